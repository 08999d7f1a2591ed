import { once } from "node:events";
import { connect } from "node:net";
import type { Test } from "tap";
import t from "tap";
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

const LARGE_BODY_BYTES = 20_000_000;
const READ_AHEAD_BYTES = 262_144;
const startReading = new AbortController();

/** Reads the first bytes of its body, and the rest after startReading. */
const late = route({
  method: "post",
  path: "/late",
  scope: "public",
  summary: "Return the length of the body",
  body: { stream: true, limit: LARGE_BODY_BYTES, mediaTypes: ["*/*"] },
  reply: Type.Object({ length: Type.Integer() }),
  async handle({ body }) {
    let length = 0;
    for await (const chunk of body.content) {
      length += chunk.length;
      if (length > READ_AHEAD_BYTES && !startReading.signal.aborted) await once(startReading.signal, "abort");
    }
    return { length };
  },
});

/** A service that parses the connections of this machine in slices, because one has sent too many requests at once. */
async function startSlicedService(t: Test) {
  const { address } = await startSmallApp(t, [large, length, late]);
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

t.test("bodies that are not read stay at their callers", async (t) => {
  const { open } = await startSlicedService(t);
  // Chunks of 100 bytes: a read of them takes longer than a slice.
  const chunks = Buffer.from(`64\r\n${"x".repeat(100)}\r\n`.repeat(1_000));
  const callers = Array.from({ length: 3 }, () => {
    const socket = open();
    const caller = { socket, reply: "" };
    socket.on("data", (chunk) => (caller.reply += chunk));
    socket.write("POST /late HTTP/1.1\r\nHost: x\r\nContent-Type: a/b\r\nTransfer-Encoding: chunked\r\n\r\n");
    for (let sent = 0; sent < LARGE_BODY_BYTES; sent += 100_000) socket.write(chunks);
    socket.write("0\r\n\r\n");
    return caller;
  });
  const unsent = () => callers.reduce((sum, { socket }) => sum + socket.writableLength, 0);
  let [waiting, since] = [unsent(), Date.now()];
  await until("the service has stopped reading", () => {
    if (unsent() !== waiting) [waiting, since] = [unsent(), Date.now()];
    return Date.now() - since > 500;
  });
  t.ok(waiting > (callers.length * LARGE_BODY_BYTES) / 2, `${waiting} bytes were not sent`);
  startReading.abort();
  const whole = `{"length":${LARGE_BODY_BYTES}}`;
  for (const caller of callers) await until("the whole body is read", () => caller.reply.includes(whole));
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
