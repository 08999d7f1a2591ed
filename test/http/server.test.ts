import { connect, type Socket } from "node:net";
import t from "tap";
import { route } from "../../src/http/route.ts";
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
