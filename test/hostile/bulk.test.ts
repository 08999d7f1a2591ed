import t from "tap";
import {
  bulkRetry,
  checkBulkRetries,
  checkWorkEnds,
  makeRetryKey,
} from "../fixtures/hostile/bulk-retries.ts";
import { openSockets, repeatPlan, requestHead } from "../fixtures/hostile/raw-sockets.ts";
import { sharedHostileService } from "../fixtures/hostile/service.ts";
import { until } from "../fixtures/until.ts";

const EVENTS = 50_000;

let retryKey: Promise<Record<string, string>> | undefined;

/** One client for both tests, because its events take seconds to store. */
async function retryingClient() {
  const service = await sharedHostileService();
  retryKey ??= makeRetryKey(service, EVENTS);
  return { service, headers: await retryKey };
}

t.test("a client has one bulk retry at a time, and it ends when the caller disconnects", async (t) => {
  const { service, headers } = await retryingClient();
  await checkBulkRetries(t, service, headers);
});

t.test("bulk retries and lists of callers who disconnect at once delay no other request", async (t) => {
  const { service, headers } = await retryingClient();
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
    await checkWorkEnds(t, service);
  });
});
