import t from "tap";
import { checkBulkRetries } from "../../fixtures/hostile/bulk-retries.ts";
import { startHostileService } from "../../fixtures/hostile/service.ts";

t.test("bulk retries of 200,000 events delay no other request", async (t) => {
  await checkBulkRetries(t, await startHostileService(t), 200_000);
});
