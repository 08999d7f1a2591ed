import { once } from "node:events";
import { createServer } from "node:http";
import { type AddressInfo, connect } from "node:net";
import t, { type Test } from "tap";
import type { ApiError } from "../../../src/http/api-error.ts";
import { incomingBody, releaseMemory } from "../../../src/http/request/body.ts";
import { createBodyMemory } from "../../../src/http/request/body-memory.ts";
import type { ShareRefused } from "../../../src/runtime/async/shares.ts";
import { until } from "../../fixtures/until.ts";

const LIMIT = 100_000;
const MEMORY = 1_000_000;
/** The memory for clients. */
const PART = (MEMORY * 3) / 8;

interface Answer {
  /** The body, or the code of the error that reading it threw. */
  text: string;
  /** True when the body was there when it was read. */
  hadArrived: boolean;
}

/** A server that reads each body in a later turn than its headers, as after an authentication, and answers with it. */
async function startServer(t: Test) {
  const memory = createBodyMemory(MEMORY, { maxWaitMs: 1 });
  const part = memory.partOf("clients", "a");
  const server = createServer(async (request, response) => {
    const body = incomingBody(request, { limit: LIMIT, memory });
    await until("the beginning of the body has arrived", () => request.readableLength > 0);
    const answer = (text: string, hadArrived: boolean) => {
      body.release();
      response.end(JSON.stringify({ text, hadArrived } satisfies Answer));
    };
    try {
      const content = body.read({ key: "a", part, callerGone: () => new AbortController().signal });
      const hadArrived = Buffer.isBuffer(content);
      answer((await content).toString(), hadArrived);
    } catch (error) {
      const { code, reason } = error as Partial<ApiError & ShareRefused>;
      answer(String(code ?? reason), true);
    }
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  t.teardown(() => server.close());
  return { part, port: (server.address() as AddressInfo).port };
}

const head = (length: number) => `POST / HTTP/1.1\r\nHost: x\r\nContent-Length: ${length}\r\n\r\n`;

/** Requests on one connection, which stays open. */
async function openConnection(t: Test, port: number) {
  const socket = connect(port, "127.0.0.1");
  t.teardown(() => socket.destroy());
  let received = "";
  socket.on("data", (chunk) => (received += chunk));
  return {
    write: (text: string) => void socket.write(text),
    nextAnswer: () =>
      until("the answer has arrived", () => {
        const found = /\r\n\r\n(\{.*?\})/.exec(received);
        if (!found) return undefined;
        received = received.slice(found.index + found[0].length);
        return JSON.parse(found[1] as string) as Answer;
      }),
  };
}

t.test("a body is read whole, whether or not it arrives with its headers", async (t) => {
  const { part, port } = await startServer(t);
  const { write, nextAnswer } = await openConnection(t, port);
  write(`${head(5)}first`);
  t.same(await nextAnswer(), { text: "first", hadArrived: true });
  write(`${head(6)}sec`);
  setImmediate(write, "ond");
  const { text } = await nextAnswer();
  t.equal(text, "second");
  write(`${head(5)}third`);
  t.same(await nextAnswer(), { text: "third", hadArrived: true }, "the connection can be used further");
  t.ok(part.shares.tryTake("b", PART), "no bytes are held after the answers");
});

t.test("two requests that arrive together have bodies of their own", async (t) => {
  const { port } = await startServer(t);
  const { write, nextAnswer } = await openConnection(t, port);
  write(`${head(3)}one${head(3)}two`);
  t.equal((await nextAnswer()).text, "one");
  t.equal((await nextAnswer()).text, "two");
});

t.test("a body that has arrived is rejected while the memory for bodies is used up", async (t) => {
  const { part, port } = await startServer(t);
  const { write, nextAnswer } = await openConnection(t, port);
  const others = part.shares.tryTake("b", PART);
  write(`${head(5)}first`);
  t.equal((await nextAnswer()).text, "capacity");
  others?.release();
  write(`${head(6)}second`);
  t.equal((await nextAnswer()).text, "second", "the connection can be used further");
});

const chunks = (text: string, bytesPerChunk: number) =>
  text.replaceAll(
    new RegExp(`.{1,${bytesPerChunk}}`, "gs"),
    (piece) => `${piece.length.toString(16)}\r\n${piece}\r\n`,
  );
const CHUNKED_HEAD = "POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n";

t.test("a chunked body is read whole, and its memory is counted as it grows", async (t) => {
  const { part, port } = await startServer(t);
  const { write, nextAnswer } = await openConnection(t, port);
  const text = "0123456789".repeat(9_000);
  write(`${CHUNKED_HEAD}${chunks(text, 1_000)}0\r\n\r\n`);
  t.ok((await nextAnswer()).text === text);
  const others = part.shares.tryTake("b", PART - 50_000);
  write(`${CHUNKED_HEAD}${chunks(text, 1_000)}0\r\n\r\n`);
  t.equal((await nextAnswer()).text.slice(0, 20), "capacity", "90,000 bytes do not fit");
  others?.release();
  t.ok(part.shares.tryTake("b", PART), "no bytes are held after a refusal");
});

t.test("a chunked body in too many small pieces is refused", async (t) => {
  const { port } = await startServer(t);
  const { write, nextAnswer } = await openConnection(t, port);
  write(`${CHUNKED_HEAD}${chunks("x".repeat(10_000), 1)}0\r\n\r\n`);
  t.equal((await nextAnswer()).text.length, 10_000);
  write(`${CHUNKED_HEAD}${chunks("x".repeat(10_001), 1)}0\r\n\r\n`);
  t.equal((await nextAnswer()).text.slice(0, 20), "validation_failed");
});

t.test("the memory of bytes is freed at once", async (t) => {
  const bytes = Buffer.allocUnsafeSlow(65_536);
  releaseMemory(bytes);
  t.equal(bytes.length, 0);
  const before = process.memoryUsage().external;
  for (let count = 0; count < 10_000; count++) releaseMemory(Buffer.allocUnsafeSlow(65_536));
  t.ok(process.memoryUsage().external - before < 100_000_000, "of 655 MB, less than 100 MB are allocated");
});

t.test("bytes that share their memory are kept", async (t) => {
  const bytes = Buffer.from("abc").subarray(1);
  releaseMemory(bytes);
  t.equal(bytes.toString(), "bc");
});
