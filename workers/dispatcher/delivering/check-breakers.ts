import type { Breakers } from "../../../src/queue/breakers.ts";
import type { Database } from "../../../src/store/database/database.ts";
import { listWebhookUrls } from "../../../src/store/tenants/webhook-configs.ts";

/** Reads the other dispatchers' breakers, and closes those of backends that their clients have replaced, also without Redis. */
export async function checkBreakers({ db, breakers }: { db: Database; breakers: Breakers }): Promise<void> {
  const refreshing = breakers.refresh();
  await refreshing.catch(() => {});
  for (const { id, webhook_url } of await listWebhookUrls(db, breakers.clients()))
    await breakers.closeFormer({ clientId: id, origin: new URL(webhook_url).origin });
  await refreshing;
}
