import { connect } from "node:net";
import t from "tap";
import { route } from "../../../src/http/route.ts";
import { Type } from "../../../src/schema/types.ts";
import { parseRaw } from "../../fixtures/http/raw-request.ts";
import { startSmallApp } from "../../fixtures/http/small-app.ts";

const MIB = 1_048_576;

const upload = route({
  method: "post",
  path: "/upload",
  scope: "public",
  summary: "Accept bytes",
  body: { limit: 4 * MIB },
  reply: Type.Object({}),
  handle: () => ({}),
});

/** Sends the beginning of a request and keeps the connection open; returns the answer when the server closes it. */
function sendPart(address: string, head: string, bytes: number): Promise<{ answer: string; ms: number }> {
  const { hostname, port } = new URL(address);
  return new Promise((resolve, reject) => {
    const startedAt = performance.now();
    const socket = connect(Number(port), hostname, () => {
      socket.write(`POST /upload HTTP/1.1\r\nHost: x\r\n${head}\r\n\r\n`);
      socket.write(Buffer.alloc(bytes, " "));
    });
    let answer = "";
    socket.on("data", (chunk) => (answer += chunk));
    socket.on("close", () => resolve({ answer, ms: performance.now() - startedAt })).on("error", reject);
  });
}

t.test("an unfinished body is answered with 408 and its connection is closed", async (t) => {
  const bodyTimeouts = { small: 200, large: 1_000 };
  const { address } = await startSmallApp(t, [upload], { bodyTimeouts });
  const small = await sendPart(address, "Content-Length: 100", 10);
  const { status, head, body } = parseRaw(small.answer);
  t.equal(status, 408);
  t.match(head, /connection: close/i);
  t.equal(body.error, "request_timeout");
  t.ok(small.ms >= 200);
  const chunk = (bytes: number) => `Transfer-Encoding: chunked\r\n\r\n${bytes.toString(16)}`;
  t.equal(parseRaw((await sendPart(address, chunk(100), 10)).answer).status, 408);
  const large = await sendPart(address, `Content-Length: ${2 * MIB}`, 10);
  t.equal(parseRaw(large.answer).status, 408);
  t.ok(large.ms >= 1_000, "a body over 1 MiB has the longer timeout");
  const growing = await sendPart(address, chunk(2 * MIB), MIB + 10);
  t.equal(parseRaw(growing.answer).status, 408);
  t.ok(growing.ms >= 1_000, "also when its size was not declared");
});
