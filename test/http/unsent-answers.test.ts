import { connect, type Socket } from "node:net";
import type { Test } from "tap";
import t from "tap";
import { route } from "../../src/http/route.ts";
import { startSmallApp } from "../fixtures/http/small-app.ts";
import { until } from "../fixtures/until.ts";

/** More than the buffers of the operating system take. */
const ANSWER = Buffer.alloc(32_000_000, "x");

/** A service with a large answer; `signals` abort when their callers have disconnected or have the whole answer. */
async function startService(t: Test, periodMs: number) {
  const signals: AbortSignal[] = [];
  const large = route({
    method: "get",
    path: "/large",
    scope: "public",
    summary: "Return many bytes",
    reply: { mediaType: "text/plain" },
    handle({ callerGone }) {
      signals.push(callerGone());
      return ANSWER;
    },
  });
  const takeLimits = { periodMs, minBytesPerSecond: 1 };
  const { address } = await startSmallApp(t, [large], { takeLimits });
  const { hostname, port } = new URL(address);
  const request = (): Socket => {
    const socket = connect(Number(port), hostname, () =>
      socket.write("GET /large HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n"),
    );
    t.teardown(() => socket.destroy());
    return socket.on("error", () => {});
  };
  return { signals, request };
}

t.test("a caller that does not read its answer is disconnected", async (t) => {
  const { signals, request } = await startService(t, 20);
  request().pause();
  await until("the service has closed the connection", () => signals[0]?.aborted);
  t.equal(signals.length, 1);
});

t.test("a caller that reads its answer gets all of it", async (t) => {
  const { request } = await startService(t, 2_000);
  const socket = request();
  let [isClosed, received] = [false, 0];
  socket.on("close", () => (isClosed = true));
  socket.on("data", (chunk) => (received += chunk.length));
  await until("the connection is closed", () => isClosed);
  t.ok(received > ANSWER.length);
});
