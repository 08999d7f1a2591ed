import { connect } from "node:net";
import t from "tap";
import { BODY_TIMEOUTS_MS } from "../../../src/http/request/body.ts";
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
function sendPart(address: string, head: string, bytes: number): Promise<string> {
  const { hostname, port } = new URL(address);
  return new Promise((resolve, reject) => {
    const socket = connect(Number(port), hostname, () => {
      socket.write(`POST /upload HTTP/1.1\r\nHost: x\r\n${head}\r\n\r\n`);
      socket.write(Buffer.alloc(bytes, " "));
    });
    let answer = "";
    socket.on("data", (chunk) => (answer += chunk));
    socket.on("close", () => resolve(answer)).on("error", reject);
  });
}

const chunk = (bytes: number) => `Transfer-Encoding: chunked\r\n\r\n${bytes.toString(16)}`;

/** A body that has the other timeout is not answered while the test waits. */
const NEVER_MS = 3_600_000;

t.test("an unfinished body is answered with 408 and its connection is closed", async (t) => {
  const bodyTimeouts = { small: 200, large: NEVER_MS };
  const { address } = await startSmallApp(t, [upload], { bodyTimeouts });
  const { status, head, body } = parseRaw(await sendPart(address, "Content-Length: 100", 10));
  t.equal(status, 408);
  t.match(head, /connection: close/i);
  t.equal(body.error, "request_timeout");
  t.equal(parseRaw(await sendPart(address, chunk(100), 10)).status, 408);
});

t.test("a body over 1 MiB has its own timeout, also when its size was not declared", async (t) => {
  const bodyTimeouts = { small: NEVER_MS, large: 200 };
  const { address } = await startSmallApp(t, [upload], { bodyTimeouts });
  t.equal(parseRaw(await sendPart(address, `Content-Length: ${2 * MIB}`, 10)).status, 408);
  t.equal(parseRaw(await sendPart(address, chunk(2 * MIB), MIB + 10)).status, 408);
});

t.test("a large body has more time than a small one", async (t) => {
  t.ok(BODY_TIMEOUTS_MS.large > BODY_TIMEOUTS_MS.small);
});
