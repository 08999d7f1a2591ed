import t from "tap";
import { startAdsContext } from "../../fixtures/tenants/ad-grants.ts";
import { makeActiveAdvertiser, makeAdObjects, receivedWrites } from "../../fixtures/tenants/ad-objects.ts";

/** JSON.parse rounds it to …992. */
const LONG = "9007199254740993";

t.test("integers beyond 2^53 in ad objects", async (t) => {
  const context = await startAdsContext(t);
  const advertiser = await makeActiveAdvertiser(context);
  const { campaign, adset, creative } = await makeAdObjects(advertiser);
  const { headers } = await advertiser.createKey("marketing:read", "marketing:manage");
  const create = (resource: string, fields: string, more: Record<string, string> = {}) =>
    context.api.call("POST", `/api/marketing/${resource}`, {
      headers: { ...headers, ...more },
      raw: `{"ad_account_id":"${advertiser.adAccountId}",${fields}}`,
    });
  const adSetFields = (targeting: string, promotedObject = '{"page_id":"1300000000000401"}') =>
    `"campaign_id":"${campaign}","name":"Long","daily_budget":1000,"billing_event":"IMPRESSIONS","optimization_goal":"LINK_CLICKS","targeting":${targeting},"promoted_object":${promotedObject}`;
  const targeting = `{"geo_locations":{"countries":["BR"]},"custom_audiences":[{"id":${LONG}}]}`;
  const promotedObject = `{"page_id":"1300000000000401","custom":[-${LONG}]}`;
  const story = `{"page_id":"1300000000000401","link_data":{"link":"https://shop.example/","ref":${LONG}}}`;
  const tracking = `[{"fb_pixel":[${LONG}]}]`;

  t.test("they reach the platform as written, and are returned so", async (t) => {
    const cases = [
      ["adsets", adSetFields(targeting, promotedObject), { targeting, promoted_object: promotedObject }],
      ["creatives", `"name":"Long","object_story_spec":${story}`, { object_story_spec: story }],
      [
        "ads",
        `"name":"Long","adset_id":"${adset}","creative":{"creative_id":"${creative}"},"tracking_specs":${tracking}`,
        { tracking_specs: tracking },
      ],
    ] as const;
    for (const [resource, fields, sent] of cases) {
      const { status, text } = await create(resource, fields);
      t.equal(status, 201, text);
      t.match((await receivedWrites(context)).at(-1)?.body, sent, resource);
      const { tracking_specs, ...returned } = { tracking_specs: undefined, ...sent };
      for (const value of Object.values(returned)) t.ok(text.includes(value), `${resource}: ${text}`);
    }
  });

  t.test("they count in the fingerprint of an Idempotency-Key", async (t) => {
    const key = { "Idempotency-Key": "long" };
    const other = targeting.replace(LONG, "9007199254740992");
    t.equal((await create("adsets", adSetFields(targeting), key)).status, 201);
    t.equal((await create("adsets", adSetFields(other), key)).status, 422);
    const replay = await create("adsets", adSetFields(targeting), key);
    t.equal(replay.headers.get("idempotent-replay"), "true");
    t.ok(replay.text.includes(LONG));
  });

  t.test("an amount or an id that is such an integer is refused", async (t) => {
    for (const fields of [
      `"name":"x","objective":"OUTCOME_TRAFFIC","daily_budget":${LONG}`,
      `"name":"x","objective":"OUTCOME_TRAFFIC","spend_cap":${LONG.repeat(3)}`,
      `"name":${LONG},"objective":"OUTCOME_TRAFFIC"`,
    ])
      t.match(await create("campaigns", fields), { status: 400, body: { error: "validation_failed" } });
  });
});
