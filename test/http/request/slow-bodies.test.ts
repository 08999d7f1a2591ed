import { connect } from "node:net";
import t, { type Test } from "tap";
import { READ_LIMITS } from "../../../src/http/request/body-memory.ts";
import { route } from "../../../src/http/route.ts";
import { Type } from "../../../src/schema/types.ts";
import { parseRaw } from "../../fixtures/http/raw-request.ts";
import { startSmallApp } from "../../fixtures/http/small-app.ts";
import { until } from "../../fixtures/until.ts";

const MIB = 1_048_576;

const upload = route({
  method: "post",
  path: "/upload",
  scope: "public",
  summary: "Accept bytes",
  body: { limit: 4 * MIB, part: "webhook" },
  reply: Type.Object({}),
  handle: () => ({}),
});

/** Sends the beginning of a request and keeps the connection open. */
function sendPart(t: Test, address: string, head: string, bytes: number) {
  const { hostname, port } = new URL(address);
  const socket = connect(Number(port), hostname, () => {
    socket.write(`POST /upload HTTP/1.1\r\nHost: x\r\n${head}\r\n\r\n`);
    socket.write(Buffer.alloc(bytes, " "));
  });
  t.teardown(() => socket.destroy());
  let received = "";
  socket.on("data", (chunk) => (received += chunk));
  return {
    socket,
    /** The answer once the server has closed the connection. */
    answer: new Promise<ReturnType<typeof parseRaw>>((resolve, reject) =>
      socket.on("close", () => resolve(parseRaw(received))).on("error", reject),
    ),
  };
}

const chunk = (bytes: number) => `Transfer-Encoding: chunked\r\n\r\n${bytes.toString(16)}`;

const NEVER_MS = 3_600_000;
const NEVER = { rateAfterMs: NEVER_MS, smallRateAfterMs: NEVER_MS, maxMs: NEVER_MS, largeMaxMs: NEVER_MS };

t.test("a body that arrives too slowly is answered with 408 and its connection is closed", async (t) => {
  const CASES: [name: string, limits: object, head: string, bytes: number][] = [
    ["a small one", { smallRateAfterMs: 1 }, "Content-Length: 100", 10],
    ["a small chunked one", { smallRateAfterMs: 1 }, chunk(100), 10],
    ["a larger one", { rateAfterMs: 1 }, `Content-Length: ${MIB}`, 10],
    ["one that takes too long", { maxMs: 1 }, `Content-Length: ${MIB}`, MIB - 1],
    ["a large one that takes too long", { largeMaxMs: 1 }, `Content-Length: ${2 * MIB}`, MIB],
    ["a large chunked one that takes too long", { largeMaxMs: 1 }, chunk(2 * MIB), MIB + 10],
  ];
  for (const [name, limits, head, bytes] of CASES) {
    const { address, lines } = await startSmallApp(t, [upload], { bodyLimits: { ...NEVER, ...limits } });
    const answer = await sendPart(t, address, head, bytes).answer;
    t.equal(answer.status, 408, name);
    t.match(answer.head, /connection: close/i, name);
    t.equal(answer.body.error, "request_timeout", name);
    t.notOk(lines.some(({ event }) => event === "http.failed"));
  }
});

t.test("a body that arrives fast enough is not cut", async (t) => {
  const bodyLimits = { ...NEVER, smallRateAfterMs: 1, minBytesPerSecond: 0.001 };
  const { address, lines } = await startSmallApp(t, [upload], { bodyLimits });
  const { socket, answer } = sendPart(t, address, "Connection: close\r\nContent-Length: 100", 50);
  const slow = sendPart(t, address, "Content-Length: 100", 0);
  t.equal((await slow.answer).status, 408, "one without any byte is cut");
  socket.write(Buffer.alloc(50, " "));
  t.equal((await answer).status, 200);
  t.equal(lines.filter(({ status }) => status === 408).length, 1);
});

t.test("a body whose part of the memory is full takes the place of the slowest one", async (t) => {
  const { address, lines } = await startSmallApp(t, [upload], { bodyLimits: NEVER, trustedProxies: 1 });
  // 64 MB of memory: 8 MB for webhooks of strangers, of which 7 MB are for large ones.
  const slow = sendPart(t, address, `X-Forwarded-For: 203.0.113.1\r\nContent-Length: ${4 * MIB}`, 10);
  const ended = slow.answer;
  const post = async () => {
    const { answer } = sendPart(t, address, `Connection: close\r\nContent-Length: ${4 * MIB}`, 4 * MIB);
    return (await answer).status;
  };
  await until("the slow one has given way", async () => {
    t.equal(await post(), 200);
    return lines.some(({ status }) => status === 503);
  });
  const { status, body, head } = await ended;
  t.equal(status, 503);
  t.equal(body.error, "overloaded");
  t.match(head, /connection: close/i);
});

t.test("the limits are those of the API contract", async (t) => {
  t.same(READ_LIMITS, {
    rateAfterMs: 5_000,
    smallRateAfterMs: 10_000,
    minBytesPerSecond: 16_384,
    maxMs: 30_000,
    largeMaxMs: 600_000,
  });
});
