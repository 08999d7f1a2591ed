import t from "tap";
import { startHostileService } from "../fixtures/hostile/service.ts";
import { postWebhook } from "../fixtures/platforms/webhooks.ts";
import { makeChannel, newPlatformId } from "../fixtures/tenants/channels.ts";
import { makeTenant } from "../fixtures/tenants/tenants.ts";

const UPDATES = 1_000;

/** A webhook of 3 MB. */
const largeWebhook = (pageId: string, name: string) =>
  JSON.stringify({
    object: "page",
    entry: Array.from({ length: UPDATES }, (_, index) => ({
      id: pageId,
      messaging: [{ sender: { id: "9" }, message: { mid: `${name}_${index}`, text: "x".repeat(2_900) } }],
    })),
  });

t.test("hostile webhooks", async (t) => {
  const service = await startHostileService(t);

  t.test("webhooks with a thousand updates delay no other request and lose none", async (t) => {
    const [tenant, pageId] = [await makeTenant(service), newPlatformId()];
    await makeChannel(service, tenant, { platform: "socialapp", pageId });
    const webhooks = ["a", "b", "c", "d"].map((name) => largeWebhook(pageId, name));
    const statuses = await service.underProbes(t, "four webhooks of 3 MB", () =>
      Promise.all(webhooks.map((webhook) => postWebhook(service.address, webhook))),
    );
    t.same(statuses, [200, 200, 200, 200]);
    const [row] = await service.db.query<{ count: number }>(
      "select count(*)::integer as count from events where client_id = $1",
      [tenant.id],
    );
    t.equal(row?.count, 4 * UPDATES);
  });

  t.test("a signed webhook with too many values is refused without delay", async (t) => {
    const webhook = (values: number) => `{"object":"page","entry":[${"[],".repeat(values - 5)}[]]}`;
    const statuses = await service.underProbes(t, "a dense webhook", () =>
      Promise.all([499_990, 600_000].map((values) => postWebhook(service.address, webhook(values)))),
    );
    t.same(statuses, [200, 400]);
  });
});
