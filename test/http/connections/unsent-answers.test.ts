import { connect, type Socket } from "node:net";
import { setImmediate as nextTurn } from "node:timers/promises";
import t, { type Test } from "tap";
import { route } from "../../../src/http/route.ts";
import { startSmallApp } from "../../fixtures/http/small-app.ts";
import { until } from "../../fixtures/until.ts";

/** More than the buffers of the operating system take. */
const ANSWER = Buffer.alloc(32_000_000, "x");

const large = route({
  method: "get",
  path: "/large",
  scope: "public",
  summary: "Return many bytes",
  reply: { mediaType: "text/plain" },
  handle: () => ANSWER,
});

function request(t: Test, address: string): Socket {
  const { hostname, port } = new URL(address);
  const socket = connect(Number(port), hostname, () =>
    socket.write("GET /large HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n"),
  );
  t.teardown(() => socket.destroy());
  return socket.on("error", () => {});
}

t.test("a caller that does not read its answer is disconnected", async (t) => {
  const takeLimits = { periodMs: 20, minBytesPerSecond: 1 };
  const { address } = await startSmallApp(t, [large], { takeLimits });
  const socket = request(t, address).pause();
  let [isClosed, received] = [false, 0];
  socket.on("close", () => (isClosed = true));
  await until("the answer has begun", () => socket.bytesWritten > 0);
  // Reading shows the end of the connection; what the operating system holds comes first.
  await until("the connection is closed", async () => {
    socket.on("data", (chunk) => (received += chunk.length)).resume();
    await nextTurn();
    socket.pause();
    return isClosed;
  });
  t.ok(received < ANSWER.length, "the answer is not complete");
});

t.test("a caller that reads its answer gets all of it", async (t) => {
  const takeLimits = { periodMs: 2_000, minBytesPerSecond: 1 };
  const { address } = await startSmallApp(t, [large], { takeLimits });
  const socket = request(t, address);
  let [isClosed, received] = [false, 0];
  socket.on("close", () => (isClosed = true));
  socket.on("data", (chunk) => (received += chunk.length));
  await until("the connection is closed", () => isClosed);
  t.ok(received > ANSWER.length);
});
