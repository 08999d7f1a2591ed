import { once } from "node:events";
import type { IncomingMessage, RequestListener, ServerResponse } from "node:http";
import { connect, type Socket } from "node:net";
import t, { type Test } from "tap";
import { route } from "../../src/http/route.ts";
import { createHttpServer } from "../../src/http/server.ts";
import { HOUR } from "../../src/runtime/durations.ts";
import { captureLog } from "../fixtures/captured-log.ts";
import { startSmallApp } from "../fixtures/http/small-app.ts";
import { until } from "../fixtures/until.ts";

t.test("a closing server waits for requests whose callers have disconnected", async (t) => {
  const order: string[] = [];
  let finish = () => {};
  const slow = route({
    method: "get",
    path: "/slow",
    scope: "public",
    summary: "Respond slowly",
    async handle() {
      order.push("begun");
      await new Promise<void>((resolve) => {
        finish = resolve;
      });
      order.push("done");
    },
  });
  const { server } = await startSmallApp(t, [slow]);
  const socket = connect(server.port(), "127.0.0.1", () =>
    socket.write("GET /slow HTTP/1.1\r\nHost: x\r\n\r\n"),
  );
  await until("the request has started", () => order.length === 1);
  socket.destroy();
  const closed = Promise.resolve(server.close?.()).then(() => order.push("closed"));
  await until("the connection is closed", () => socket.destroyed);
  setImmediate(() => finish());
  await closed;
  t.same(order, ["begun", "done", "closed"]);
});

/** A server that holds its answers, with this grace period for idle connections. */
async function startHoldingServer(t: Test, idleGraceMs: number) {
  const held: [IncomingMessage, ServerResponse][] = [];
  const listener: RequestListener = (...exchange) => void held.push(exchange);
  const app = { listener, onUnknownExpectation: listener, waitForDrain: async () => {} };
  const { log } = captureLog();
  const options = { port: 0, host: "127.0.0.1", log, isHttps: false, maxConnectionsPerAddress: 0 };
  const server = createHttpServer(app, { ...options, idleGraceMs });
  await server.start?.({ fail: (error) => t.fail(String(error)) });
  t.teardown(() => server.close?.());
  const port = server.port();
  return {
    port,
    close: async () => server.close?.(),
    /** Waits for the next request and answers it with its path. */
    async answer() {
      const [request, response] = await until("a request has arrived", () => held.shift());
      response.writeHead(200, { "Content-Type": "text/plain" }).end(`answer to ${request.url}`);
    },
    held,
  };
}

/** A connection with the text that it has received. */
async function open(t: Test, port: number) {
  const socket: Socket = connect(port, "127.0.0.1");
  t.teardown(() => socket.destroy());
  let received = "";
  socket.on("data", (chunk) => (received += chunk));
  const closed = once(socket, "close");
  await once(socket, "connect");
  return {
    /** Sends the requests in one packet. */
    request: (...paths: string[]) =>
      socket.write(paths.map((path) => `GET ${path} HTTP/1.1\r\nHost: x\r\n\r\n`).join("")),
    untilReceived: (text: string) => until(`${text} is received`, () => received.includes(text)),
    /** Waits for the end of the connection, and returns what was received. */
    async ended() {
      await closed;
      return received;
    },
  };
}

const isRefused = (port: number): Promise<boolean> =>
  new Promise((resolve) => {
    const socket = connect(port, "127.0.0.1", () => resolve(false));
    socket.on("error", () => resolve(true)).on("connect", () => socket.destroy());
  });

t.test("a closing server answers requests on idle connections and refuses new connections", async (t) => {
  const { port, close, answer } = await startHoldingServer(t, 1 * HOUR);
  const [unused, used] = [await open(t, port), await open(t, port)];
  used.request("/1");
  await answer();
  await used.untilReceived("answer to /1");
  const closed = close();
  t.ok(await isRefused(port));
  for (const connection of [unused, used]) {
    connection.request("/2");
    await answer();
    t.match(await connection.ended(), /connection: close\r\n(.*\r\n)+.*answer to \/2/i);
  }
  await closed;
});

t.test("a closing server announces the close in an answer that has not begun", async (t) => {
  const { port, close, answer, held } = await startHoldingServer(t, 1 * HOUR);
  const connection = await open(t, port);
  connection.request("/1");
  await until("the request is in work", () => held.length === 1);
  const closed = close();
  await answer();
  t.match(await connection.ended(), /connection: close\r\n(.*\r\n)+.*answer to \/1/i);
  await closed;
});

t.test("a closing server answers requests that wait on their connection", async (t) => {
  const { port, close, answer, held } = await startHoldingServer(t, 1 * HOUR);
  const connection = await open(t, port);
  connection.request("/1", "/2", "/3");
  await until("the first one is in work", () => held.length === 1);
  const closed = close();
  for (let count = 0; count < 3; count++) await answer();
  const received = await connection.ended();
  t.same(received.match(/answer to \/\d/g), ["answer to /1", "answer to /2", "answer to /3"]);
  t.equal(received.match(/connection: close/gi)?.length, 1, "only the last one announces the close");
  await closed;
});

t.test("a closing server closes connections that stay idle", async (t) => {
  const { port, close, answer } = await startHoldingServer(t, 10);
  const [unused, used] = [await open(t, port), await open(t, port)];
  used.request("/1");
  await answer();
  await used.untilReceived("answer to /1");
  await close();
  t.equal(await unused.ended(), "");
  t.notMatch(await used.ended(), /connection: close/i);
});

t.test("a closing server without connections waits for nothing", async (t) => {
  const { port, close } = await startHoldingServer(t, 1 * HOUR);
  await close();
  t.ok(await isRefused(port));
});
