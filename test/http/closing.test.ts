import { connect } from "node:net";
import t from "tap";
import { route } from "../../src/http/route.ts";
import { startSmallApp } from "../fixtures/http/small-app.ts";
import { until } from "../fixtures/until.ts";

t.test("a closing server waits for requests whose callers have disconnected", async (t) => {
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
  const { server } = await startSmallApp(t, [slow]);
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
