import { connect, type Socket } from "node:net";
import t, { type Test } from "tap";
import { type Route, route } from "../../src/http/route.ts";
import { Type } from "../../src/schema/types.ts";
import { parseRaw, sendRaw } from "../fixtures/http/raw-request.ts";
import { startSmallApp } from "../fixtures/http/small-app.ts";
import { until } from "../fixtures/until.ts";

const hello = route({
  method: "get",
  path: "/hello",
  scope: "public",
  summary: "Say hello",
  reply: Type.Object({}),
  handle: () => ({}),
});

const GET = "GET /hello HTTP/1.1\r\nHost: x\r\nConnection: close\r\n";

t.test("requests that HTTP does not allow get the standard error body", async (t) => {
  const { address, lines } = await startSmallApp(t, [hello]);
  const CASES: [string, string, number, string][] = [
    ["two Host headers", `${GET}Host: y\r\n\r\n`, 400, "validation_failed"],
    ["the same Host twice", `${GET}host: x\r\n\r\n`, 400, "validation_failed"],
    ["no Host header", "GET /hello HTTP/1.1\r\n\r\n", 400, "validation_failed"],
    ["an unknown expectation", `${GET}Expect: foo\r\n\r\n`, 417, "expectation_failed"],
    ["a mixed expectation", `${GET}Expect: foo, 100-continue\r\n\r\n`, 417, "expectation_failed"],
    ["a similar expectation", `${GET}Expect: x-100-continue\r\n\r\n`, 417, "expectation_failed"],
    ["CONNECT", "CONNECT example.com:443 HTTP/1.1\r\nHost: example.com\r\n\r\n", 405, "method_not_allowed"],
  ];
  for (const [name, text, status, error] of CASES) {
    const answer = parseRaw(await sendRaw(address, text));
    t.equal(answer.status, status, name);
    t.match(answer.body, { error, message: /./, request_id: /^req_/ }, name);
    t.match(answer.head, /x-request-id: req_\w+\r\nx-api-version: /i, name);
    if (status === 405) t.match(answer.head, /allow: GET, HEAD, POST/i);
  }
  t.equal(parseRaw(await sendRaw(address, `${GET}\r\n`)).status, 200, "the server still answers");
  t.notOk(lines.some(({ level }) => level === "error"));
});

t.test("Strict-Transport-Security is sent when callers use https, also with errors", async (t) => {
  for (const isHttps of [true, false]) {
    const { address } = await startSmallApp(t, [hello], { isHttps });
    for (const text of [
      `${GET}\r\n`,
      "GET /nothing HTTP/1.1\r\nConnection: close\r\n\r\n",
      "nonsense\r\n\r\n",
    ]) {
      const answer = await sendRaw(address, text);
      t.equal(/strict-transport-security: max-age=31536000\r\n/i.test(answer), isHttps, text);
    }
  }
});

t.test("an address with too many connections gets no further one until it closes one", async (t) => {
  const { address, lines } = await startSmallApp(t, [hello], { maxConnectionsPerAddress: 3 });
  const { hostname, port } = new URL(address);
  const open = (): Promise<Socket> =>
    new Promise((resolve) => {
      const socket = connect(Number(port), hostname, () => resolve(socket));
      socket.on("error", () => {});
      t.teardown(() => socket.destroy());
    });
  const isAnswered = (socket: Socket): Promise<boolean> =>
    new Promise((resolve) => {
      socket.once("data", () => resolve(true)).once("close", () => resolve(false));
      socket.write("GET /hello HTTP/1.1\r\nHost: x\r\n\r\n");
    });
  const sockets = [await open(), await open(), await open()];
  for (const socket of sockets) t.equal(await isAnswered(socket), true);
  t.equal(await isAnswered(await open()), false);
  t.equal(await isAnswered(await open()), false);
  const refusals = lines.filter(({ event }) => event === "http.connections_refused");
  t.match(refusals, [{ address: "127.0.0.1", limit: 3 }], "refusals are logged once a minute");
  sockets[0]?.destroy();
  await until("a new connection is answered", async () => isAnswered(await open()));
});

/** A route whose requests wait until they are released; `begun` has their numbers. */
function heldRoute() {
  const begun: string[] = [];
  const signals: AbortSignal[] = [];
  let isHeld = true;
  const held: Route = route({
    method: "get",
    path: "/held/{number}",
    scope: "public",
    summary: "Answer when released",
    params: Type.Object({ number: Type.String() }),
    reply: Type.Object({ number: Type.String() }),
    async handle({ params, callerGone }) {
      begun.push(params.number);
      signals.push(callerGone());
      await until("the request is released", () => !isHeld);
      return params;
    },
  });
  return { held, begun, signals, release: () => (isHeld = false) };
}

const get = (number: number) => `GET /held/${number} HTTP/1.1\r\nHost: x\r\n\r\n`;
const requests = (count: number) => Array.from({ length: count }, (_, number) => get(number)).join("");

async function open(t: Test, address: string) {
  const { hostname, port } = new URL(address);
  const socket = connect(Number(port), hostname);
  t.teardown(() => socket.destroy());
  let received = "";
  let isClosed = false;
  socket.on("data", (chunk) => (received += chunk));
  socket.on("close", () => (isClosed = true)).on("error", () => {});
  return {
    socket,
    /** The numbers of the requests that were answered. */
    answered: () => [...received.matchAll(/"number":"(\d+)"/g)].map(([, number]) => Number(number)),
    isClosed: () => isClosed,
  };
}

t.test("pipelined requests are begun one after the other and answered in order", async (t) => {
  const { held, begun, release } = heldRoute();
  const { address } = await startSmallApp(t, [held]);
  const { socket, answered, isClosed } = await open(t, address);
  socket.write(requests(33));
  await until("the first one has begun", () => begun.length > 0);
  const other = await fetch(`${address}/nothing`);
  t.equal(other.status, 404, "other connections are answered");
  t.same(begun, ["0"], "the second one has not begun");
  release();
  await until("all are answered", () => answered().length === 33);
  t.same(answered(), [...Array(33).keys()]);
  t.notOk(isClosed());
  socket.write(get(33));
  await until("the connection can be used further", () => answered().length === 34);
});

t.test("beyond 32 waiting requests the connection is closed after the answer in work", async (t) => {
  const { held, begun, release } = heldRoute();
  const { address } = await startSmallApp(t, [held]);
  const { socket, answered, isClosed } = await open(t, address);
  socket.write(requests(1_000));
  await until("the first one has begun", () => begun.length > 0);
  release();
  await until("the connection is closed", isClosed);
  t.same(answered(), [0]);
  t.same(begun, ["0"]);
});

t.test("waiting requests are dropped with their connection", async (t) => {
  const { held, begun, signals, release } = heldRoute();
  const { address, lines } = await startSmallApp(t, [held]);
  const { socket } = await open(t, address);
  socket.write(requests(10));
  await until("the first one has begun", () => begun.length > 0);
  socket.destroy();
  await until("the server has seen the end of the connection", () => signals[0]?.aborted);
  release();
  await until("the first one has ended", () => lines.some(({ event }) => event === "http.request"));
  t.same(begun, ["0"]);
});
