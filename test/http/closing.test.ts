import { connect } from "node:net";
import t from "tap";
import { createApp } from "../../src/http/app.ts";
import { route } from "../../src/http/route.ts";
import { createHttpServer } from "../../src/http/server.ts";
import { createMetrics } from "../../src/runtime/metrics/metrics.ts";
import { createValidator } from "../../src/schema/validate.ts";
import { captureLog } from "../fixtures/captured-log.ts";
import { until } from "../fixtures/until.ts";

t.test("a closing server waits for requests whose callers have disconnected", async (t) => {
  const { log } = captureLog();
  const order: string[] = [];
  let finish = () => {};
  const slow = route({
    method: "get",
    path: "/slow",
    scope: "public",
    summary: "Respond slowly",
    async handle() {
      order.push("begun");
      await new Promise<void>((resolve) => {
        finish = resolve;
      });
      order.push("done");
    },
  });
  const app = createApp([slow], {
    credentials: [],
    gates: {},
    rateLimit: async () => ({}),
    cursorSigner: { sign: () => "", verify: () => false },
    validator: createValidator(),
    metrics: createMetrics("test"),
    log,
    trustedProxies: 0,
    idempotency: async () => undefined,
  });
  const server = createHttpServer(app, { port: 0, host: "127.0.0.1", log });
  await server.start?.({ fail: (error) => t.fail(String(error)) });
  const socket = connect(server.port(), "127.0.0.1", () =>
    socket.write("GET /slow HTTP/1.1\r\nHost: x\r\n\r\n"),
  );
  await until("the request has started", () => order.length === 1);
  socket.destroy();
  const closed = Promise.resolve(server.close?.()).then(() => order.push("closed"));
  await until("the connection is closed", () => socket.destroyed);
  setImmediate(() => finish());
  await closed;
  t.same(order, ["begun", "done", "closed"]);
});
