import t from "tap";
import { checkBulkRetries, makeRetryKey } from "../../fixtures/hostile/bulk-retries.ts";
import { startHostileService } from "../../fixtures/hostile/service.ts";

t.test("bulk retries of 200,000 events delay no other request", async (t) => {
  const service = await startHostileService(t);
  await checkBulkRetries(t, service, await makeRetryKey(service, 200_000));
});
