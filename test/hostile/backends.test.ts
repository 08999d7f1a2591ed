import type { Socket } from "node:net";
import t from "tap";
import { startTcpBackend } from "../fixtures/events/backends.ts";
import { configureWebhook, makeEvents } from "../fixtures/events/events.ts";
import { DELIVERY_SLOTS, sharedHostileService } from "../fixtures/hostile/service.ts";
import { makeTenant } from "../fixtures/tenants/tenants.ts";
import { until } from "../fixtures/until.ts";

const OK = "HTTP/1.1 200 OK\r\n";

/** Writes the text again and again, as fast as the other side reads or once per interval. */
function repeatWrite(socket: Socket, text: string, intervalMs = 0): void {
  const timer = setInterval(
    () => socket.writable && socket.writableLength === 0 && socket.write(text),
    intervalMs,
  );
  socket.on("close", () => clearInterval(timer));
}

/** What each backend does once it has received a request. */
const BACKENDS: Record<string, (socket: Socket) => void> = {
  hangs: () => {},
  "drips its headers": (socket) => {
    socket.write(OK);
    repeatWrite(socket, "a: b\r\n", 100);
  },
  "drips its body": (socket) => {
    socket.write(`${OK}Content-Length: 1000000\r\n\r\n`);
    repeatWrite(socket, "x", 100);
  },
  "floods with headers": (socket) => {
    socket.write(OK);
    repeatWrite(socket, `a: ${"b".repeat(60_000)}\r\n`);
  },
  "floods with a body": (socket) => {
    socket.write(`${OK}Transfer-Encoding: chunked\r\n\r\n`);
    repeatWrite(socket, `10000\r\n${"x".repeat(65_536)}\r\n`);
  },
  "floods with interim answers": (socket) =>
    repeatWrite(socket, "HTTP/1.1 102 Processing\r\n\r\n".repeat(1_000)),
  "floods with empty lines": (socket) => repeatWrite(socket, "\r\n".repeat(30_000)),
  "floods with chunk extensions": (socket) => {
    socket.write(`${OK}Transfer-Encoding: chunked\r\n\r\n1;`);
    repeatWrite(socket, "a".repeat(60_000));
  },
  "floods with tiny chunks": (socket) => {
    socket.write(`${OK}Transfer-Encoding: chunked\r\n\r\n`);
    repeatWrite(socket, "1\r\nx\r\n".repeat(10_000));
  },
  "floods with trailers": (socket) => {
    socket.write(`${OK}Transfer-Encoding: chunked\r\n\r\n0\r\n`);
    repeatWrite(socket, "a: b\r\n".repeat(10_000));
  },
  "announces more than it sends": (socket) => socket.end(`${OK}Content-Length: 1000000\r\n\r\nx`),
  "sends more than it announces": (socket) =>
    socket.end(`${OK}Content-Length: 1\r\n\r\n${"x".repeat(100_000)}`),
  "announces compression": (socket) =>
    socket.end(`${OK}Content-Encoding: gzip\r\nContent-Length: 4\r\n\r\nxxxx`),
  "answers garbage": (socket) => socket.end("\u0000\u0001 nonsense\r\n\r\n".repeat(1_000)),
  "redirects to itself": (socket) => socket.end("HTTP/1.1 307 X\r\nLocation: /\r\nContent-Length: 0\r\n\r\n"),
  "closes at once": (socket) => void socket.destroy(),
};

/** Ten backends do not finish their answers; together they have more events than there are slots. */
const EVENTS_PER_CLIENT = DELIVERY_SLOTS / 10 + 2;

t.test("backends that hang, drip, flood and lie delay no other client", async (t) => {
  const service = await sharedHostileService();
  const tenants = await service.underProbes(t, "all backends at the same time", async () => {
    const attack = async ([name, misbehave]: [string, (socket: Socket) => void]) => {
      const backend = await startTcpBackend(t, (socket) => void socket.once("data", () => misbehave(socket)));
      const tenant = await makeTenant(service, name);
      await configureWebhook(service, tenant, { url: backend.url });
      const drafts = Array.from({ length: EVENTS_PER_CLIENT }, (_, index) => ({ dedupKey: `${index}` }));
      await makeEvents(service, tenant, ...drafts);
      await until(`the backend that ${name} is called`, () => backend.connections() > 0);
      return tenant;
    };
    return Promise.all(Object.entries(BACKENDS).map(attack));
  });
  const { child } = service.dispatcher;
  t.equal(child.exitCode ?? child.signalCode, null, "the dispatcher is still running");
  // The retries would use processor time during the next files.
  for (const tenant of tenants) await configureWebhook(service, tenant, { url: null });
});
