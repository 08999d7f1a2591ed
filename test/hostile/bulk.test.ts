import t from "tap";
import { bulkRetry, checkBulkRetries, makeRetryingTenant } from "../fixtures/hostile/bulk-retries.ts";
import { openSockets, repeatPlan, requestHead } from "../fixtures/hostile/raw-sockets.ts";
import { sharedHostileService } from "../fixtures/hostile/service.ts";
import { until } from "../fixtures/until.ts";

t.test("a client has one bulk retry at a time, and it ends when the caller disconnects", async (t) => {
  await checkBulkRetries(t, await sharedHostileService(), 50_000);
});

t.test("bulk retries and lists of callers who disconnect at once delay no other request", async (t) => {
  const service = await sharedHostileService();
  const { headers } = await makeRetryingTenant(service, 50_000);
  const body = bulkRetry();
  const length = { "Content-Length": `${body.length}` };
  const retry = `${requestHead("POST /api/webhooks/events/retry", { ...headers, ...length })}${body}`;
  const list = requestHead("GET /api/webhooks/events?limit=100", headers);
  await service.underProbes(t, "200 callers who disconnect", async () => {
    const plans = [retry, list].flatMap((head) => repeatPlan(100, { head, hangsUp: true }));
    const sockets = openSockets(t, service.address, plans);
    await until("all have disconnected", async () =>
      (await sockets.reports()).every(({ closedAfterMs }) => closedAfterMs !== undefined),
    );
    t.equal((await service.call("GET", "/readyz")).status, 200, "/readyz");
    await sockets.stop();
  });
});
