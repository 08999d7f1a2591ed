import { once } from "node:events";
import { connect } from "node:net";
import t, { type Test } from "tap";
import { route } from "../../../src/http/route.ts";
import { Type } from "../../../src/schema/types.ts";
import { startSmallApp } from "../../fixtures/http/small-app.ts";
import { until } from "../../fixtures/until.ts";

const ANSWER = Buffer.alloc(4_000_000, "x");
const PADDING = `X-Padding: ${"x".repeat(1_000)}`;

const large = route({
  method: "get",
  path: "/large",
  scope: "public",
  summary: "Return many bytes",
  reply: { mediaType: "text/plain" },
  handle: () => ANSWER,
});
const length = route({
  method: "post",
  path: "/length",
  scope: "public",
  summary: "Return the length of the body",
  body: { limit: 20_000_000, part: "webhook" },
  reply: Type.Object({ length: Type.Integer() }),
  handle: ({ body }) => ({ length: body.length }),
});

/** A service that parses the connections of this machine in slices, because one has sent too many requests at once. */
async function startSlicedService(t: Test) {
  const { address } = await startSmallApp(t, [large, length]);
  const { hostname, port } = new URL(address);
  const open = () => {
    const socket = connect(Number(port), hostname);
    t.teardown(() => socket.destroy());
    return socket.on("error", () => {});
  };
  const attacker = open();
  attacker.write("GET /nothing HTTP/1.1\r\nHost: x\r\n\r\n".repeat(1_000));
  attacker.resume();
  await once(attacker, "close");
  return { address, open };
}

t.test("pipelined requests whose answers are read late are all answered", async (t) => {
  const { open } = await startSlicedService(t);
  const COUNT = 20;
  const socket = open();
  socket.pause();
  socket.write(`GET /large HTTP/1.1\r\nHost: x\r\n${PADDING}\r\n\r\n`.repeat(COUNT));
  await once(socket, "connect");
  let received = 0;
  socket.on("data", (chunk) => (received += chunk.length)).resume();
  await until("all answers have arrived", () => received > COUNT * ANSWER.length);
  socket.write("GET /nothing HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n");
  await once(socket, "close");
  t.ok(received > COUNT * ANSWER.length, "the connection can be used further");
});

t.test("a large body is read whole, with a length and in chunks", async (t) => {
  const { address } = await startSlicedService(t);
  const body = Buffer.alloc(3_000_000, "x");
  const stream = () => new Blob([body]).stream();
  for (const init of [{ body }, { body: stream(), duplex: "half" as const }]) {
    const reply = await fetch(`${address}/length`, { method: "POST", ...init });
    t.same(await reply.json(), { length: body.length });
  }
});

t.test("what follows a CONNECT is not parsed", async (t) => {
  const { address, open } = await startSlicedService(t);
  const socket = open();
  let received = "";
  socket.on("data", (chunk) => (received += chunk));
  const rest = `GET /large HTTP/1.1\r\nHost: x\r\n${PADDING}\r\n\r\n`.repeat(20);
  socket.write(`CONNECT example.com:443 HTTP/1.1\r\nHost: example.com\r\n\r\n${rest}`);
  const others = Array.from({ length: 10 }, () => fetch(`${address}/nothing`));
  for (const reply of await Promise.all(others)) t.equal(reply.status, 404);
  await until("the refusal has arrived", () => received.includes("method_not_allowed"));
  t.equal(received.match(/HTTP\/1\.1 /g)?.length, 1);
});
