import t from "tap";
import { freePort } from "../../../src/local/server-process.ts";
import { readClientEvents } from "../../fixtures/platforms/webhooks.ts";
import { startAdsContext, WHOLESALE_ACCOUNT_ID } from "../../fixtures/tenants/ad-grants.ts";
import { makeActiveAdvertiser, makeAdObjects } from "../../fixtures/tenants/ad-objects.ts";
import { until } from "../../fixtures/until.ts";

t.test("the platform's review of ads reaches only clients that hold the account", async (t) => {
  const PORT = String(await freePort());
  const context = await startAdsContext(t, {
    settings: { PUBLIC_URL: `http://127.0.0.1:${PORT}` },
    apiSettings: { PORT },
  });
  const advertiser = await makeActiveAdvertiser(context);
  const partner = await makeActiveAdvertiser(context);
  const bystander = await makeActiveAdvertiser(context, {
    account: WHOLESALE_ACCOUNT_ID,
    reachable: [advertiser.adAccountId.slice("act_".length)],
  });
  const { adset, creative } = await makeAdObjects(advertiser);
  const references = { adset_id: adset, creative: { creative_id: creative } };
  const { body: disapproved } = await advertiser.create("ads", { ...references, name: "disapprove me" });
  const { body: fatigued } = await advertiser.create("ads", { ...references, name: "fatigue soon" });
  const { body: foreign } = await bystander.create("campaigns");

  const eventsOf = async (clientId: string) =>
    (await readClientEvents(context.api, clientId)).map(({ type, key, ad_account_id, payload }) => ({
      type,
      key,
      ad_account_id,
      data: payload.data,
    }));
  const expected = [
    {
      type: "ad_object.status_changed",
      data: { object_id: disapproved.id, level: "AD", status: "Disapproved" },
    },
    {
      type: "ad_object.with_issues",
      data: { object_id: disapproved.id, level: "AD", error_code: "1359188" },
    },
    { type: "ad_object.status_changed", data: { object_id: fatigued.id, level: "AD" } },
    { type: "creative.fatigue", data: { ad_id: fatigued.id, level: "HIGH" } },
  ];
  for (const { id: clientId } of [advertiser, partner])
    for (const { type, data } of expected) {
      const [name, value] = Object.entries(data)[0] as [string, string];
      const event = await until(`${type} of ${value} has arrived`, async () =>
        (await eventsOf(clientId)).find((one) => one.type === type && one.data[name] === value),
      );
      t.match(event, { key: "marketing", ad_account_id: advertiser.adAccountId, data });
    }

  await until("the other client has its own event", async () => (await eventsOf(bystander.id)).length > 0);
  const seen = await eventsOf(bystander.id);
  t.ok(seen.every(({ ad_account_id }) => ad_account_id === bystander.adAccountId));
  t.same([...new Set(seen.map(({ data }) => data.object_id))], [foreign.id]);
});
