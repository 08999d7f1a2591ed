import t from "tap";
import { startAdsContext } from "../../../fixtures/tenants/ad-grants.ts";
import { makeActiveAdvertiser, makeAdObjects, receivedWrites } from "../../../fixtures/tenants/ad-objects.ts";

const END = "2027-02-01T00:00:00-0300";

t.test("ad sets", async (t) => {
  const context = await startAdsContext(t);
  const advertiser = await makeActiveAdvertiser(context);
  const { campaign, adset } = await makeAdObjects(advertiser);

  t.test("every field reaches the platform and is read back", async (t) => {
    const fields = {
      campaign_id: campaign,
      name: "Chile",
      status: "ACTIVE",
      daily_budget: undefined,
      lifetime_budget: 20_000,
      billing_event: "IMPRESSIONS",
      optimization_goal: "LINK_CLICKS",
      bid_amount: 150,
      bid_strategy: "LOWEST_COST_WITH_BID_CAP",
      start_time: "2027-01-01T00:00:00-0300",
      end_time: END,
      targeting: {
        geo_locations: { countries: ["CL"] },
        interests: [{ id: "6003107902433", name: "Coffee" }],
      },
      promoted_object: { page_id: "1300000000000401", custom: [1, { deep: null }] },
      destination_type: "WEBSITE",
      dsa_payor: "Sandbox Coffee Ltda",
      dsa_beneficiary: "Sandbox Coffee Ltda",
    };
    const { status, body } = await advertiser.create("adsets", fields);
    t.equal(status, 201);
    const { dsa_payor, dsa_beneficiary, ...shown } = fields;
    t.match(body, { ...shown, lifetime_budget: "20000", bid_amount: "150", daily_budget: "0" });
    t.match((await receivedWrites(context)).at(-1)?.body, {
      targeting: JSON.stringify(fields.targeting),
      promoted_object: JSON.stringify(fields.promoted_object),
      lifetime_budget: "20000",
      dsa_payor,
      dsa_beneficiary,
    });
    const { body: edited } = await advertiser.edit(`/adsets/${body.id}`, {
      destination_type: "APP",
      lifetime_budget: 30_000,
      end_time: END,
    });
    t.match(edited, { destination_type: "APP", lifetime_budget: "30000" });
  });

  t.test("bad input is refused with a message in words, on create and on edit", async (t) => {
    const refusals: readonly (readonly [fields: object, path: string, message: RegExp])[] = [
      [
        { daily_budget: 1, lifetime_budget: 1, end_time: END },
        "/daily_budget",
        /^daily_budget and lifetime_budget are mutually exclusive$/,
      ],
      [
        { daily_budget: undefined, lifetime_budget: 1 },
        "/end_time",
        /^lifetime_budget requires end_time in the same request$/,
      ],
      [{ bid_amount: "1" }, "/bid_amount", /must be an integer/],
      [{ billing_event: "LIKES" }, "/billing_event", /must be one of APP_INSTALLS, /],
      [{ optimization_goal: "FAME" }, "/optimization_goal", /must be one of NONE, /],
      [{ targeting: "BR" }, "/targeting", /must be an object/],
      [{ targeting: [] }, "/targeting", /must be an object/],
      [{ promoted_object: {} }, "/promoted_object", /^promoted_object must have page_id, /],
      [{ promoted_object: { application_id: "1" } }, "/promoted_object", /object_store_url/],
      [{ destination_type: "" }, "/destination_type", /must not be empty/],
      [{ end_time: "soon" }, "/end_time", /must be a time/],
    ];
    for (const [fields, path, message] of refusals) {
      const expected = { status: 400, body: { error: "validation_failed", details: [{ path, message }] } };
      const title = JSON.stringify(fields);
      t.match(await advertiser.create("adsets", { campaign_id: campaign, ...fields }), expected, title);
      t.match(await advertiser.edit(`/adsets/${adset}`, fields), expected, title);
    }
    t.match(await advertiser.create("adsets"), {
      status: 400,
      body: { details: [{ path: "/campaign_id" }] },
    });
    t.match(await advertiser.create("adsets", { campaign_id: "x" }), { status: 400 });
    t.match(await advertiser.edit(`/adsets/${adset}`, { campaign_id: campaign }), {
      status: 400,
      body: { message: "campaign_id cannot be changed after creation" },
    });
  });

  t.test("each form of promoted_object is accepted", async (t) => {
    for (const promoted_object of [
      { page_id: "1300000000000401" },
      { application_id: "1", object_store_url: "https://store.example/app" },
      { pixel_id: "1", custom_event_type: "PURCHASE" },
      { product_set_id: "1" },
      { custom_conversion_id: "1" },
      { whatsapp_phone_number: "5511900000301" },
    ]) {
      const { status, body } = await advertiser.create("adsets", { campaign_id: campaign, promoted_object });
      t.match({ status, body }, { status: 201, body: { promoted_object } });
    }
  });

  t.test("the budget may also be edited with null in place of the other", async (t) => {
    const { status, body } = await advertiser.edit(`/adsets/${adset}`, {
      daily_budget: 2_000,
      lifetime_budget: null,
    });
    t.match({ status, body }, { status: 200, body: { daily_budget: "2000" } });
  });

  t.test("characters with a meaning in forms reach the platform unchanged", async (t) => {
    const name = "50 % off + more & = ? / # é 漢 😀 \"quoted\" 'single' (a)*!~";
    const targeting = { geo_locations: { countries: ["BR"] }, flexible_spec: [{ note: name }] };
    const { status, body } = await advertiser.create("adsets", { campaign_id: campaign, name, targeting });
    t.match({ status, body }, { status: 201, body: { name, targeting } });
  });

  t.test("ad sets are listed by campaign", async (t) => {
    const { body: other } = await advertiser.create("campaigns", { name: "Other" });
    const { body: inOther } = await advertiser.create("adsets", { campaign_id: other.id });
    const { body } = await advertiser.read(`/adsets?campaign_id=${other.id}`);
    t.same(
      body.data.map(({ id }: { id: string }) => id),
      [inOther.id],
    );
    t.match(await advertiser.read("/adsets?campaign_id=x"), { status: 400 });
    t.match(await advertiser.read("/adsets?campaign_id=1"), { status: 404 });
  });
});
