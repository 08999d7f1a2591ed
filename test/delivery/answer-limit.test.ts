import type { Socket } from "node:net";
import type { Test } from "tap";
import t from "tap";
import { createEventPoster } from "../../src/delivery/post-event.ts";
import { createDestinations } from "../../src/delivery/ssrf-guard.ts";
import { cidrs } from "../../src/runtime/config/setting-kinds.ts";
import { startBackend, startTcpBackend } from "../fixtures/events/backends.ts";

function createPoster(t: Test) {
  const destinations = createDestinations(cidrs.parse("127.0.0.0/8") ?? []);
  const poster = createEventPoster({ destinations, resolver: async () => [] });
  t.teardown(() => poster.close());
  return (url: string) => poster.post({ url, headers: {}, body: "{}", token: undefined });
}

const CHUNKED = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n";

/** Writes the text until the connection is closed. */
const flood = (start: string, text: string) => (socket: Socket) =>
  socket.once("data", () => {
    socket.write(start);
    const timer = setInterval(() => socket.writableLength === 0 && socket.write(text), 0);
    socket.on("close", () => clearInterval(timer));
  });

t.test("an endless answer ends the attempt long before its deadline", async (t) => {
  const post = createPoster(t);
  const FLOODS: [string, string, string, string | null][] = [
    ["interim answers", "", "HTTP/1.1 102 Processing\r\n\r\n".repeat(1_000), "not an HTTP answer"],
    ["empty lines", "", "\r\n".repeat(10_000), "not an HTTP answer"],
    ["a status line", "HTTP/1.1 200 O", "K".repeat(10_000), "not an HTTP answer"],
    ["trailers", `${CHUNKED}0\r\n`, "a: b\r\n".repeat(1_000), "not an HTTP answer"],
    ["chunk extensions", `${CHUNKED}1;`, "a".repeat(10_000), null],
    ["tiny chunks", CHUNKED, "1\r\nx\r\n".repeat(1_000), null],
    ["a body", CHUNKED, `1000\r\n${"x".repeat(4_096)}\r\n`, null],
  ];
  for (const [name, start, text, error] of FLOODS) {
    const { url } = await startTcpBackend(t, flood(start, text));
    const posted = await post(url);
    t.equal(posted.error, error, name);
    t.ok(posted.durationMs < 10_000, `${name} took ${posted.durationMs} ms`);
  }
});

t.test("many answers on one connection are complete, whatever their size", async (t) => {
  const post = createPoster(t);
  let answers = 0;
  const backend = await startBackend(t, (request, response) => {
    request.resume();
    request.on("end", () => response.end("x".repeat((answers++ * 997) % 60_000)));
  });
  for (let count = 0; count < 100; count++) t.match(await post(backend.url), { outcome: "delivered" });
  t.ok(backend.connections() < 10, "connections are reused");
});
