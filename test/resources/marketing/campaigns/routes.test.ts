import t from "tap";
import { startAdsContext } from "../../../fixtures/tenants/ad-grants.ts";
import { makeActiveAdvertiser, receivedWrites } from "../../../fixtures/tenants/ad-objects.ts";

const START = "2027-01-01T00:00:00-0300";
const STOP = "2027-02-01T00:00:00-03:00";

t.test("campaigns", async (t) => {
  const context = await startAdsContext(t);
  const advertiser = await makeActiveAdvertiser(context);

  t.test("a campaign is created paused, with only the given fields, and read again", async (t) => {
    const { status, body } = await advertiser.create("campaigns");
    t.equal(status, 201);
    t.match(body, {
      id: /^\d+$/,
      name: "Spring",
      objective: "OUTCOME_TRAFFIC",
      status: "PAUSED",
      effective_status: String,
      special_ad_categories: [],
      buying_type: "AUCTION",
      created_time: /[+-]\d{4}$/,
    });
    t.notOk("daily_budget" in body, "fields that the platform omits are absent");
    t.same((await receivedWrites(context)).at(-1)?.body, {
      name: "Spring",
      objective: "OUTCOME_TRAFFIC",
      special_ad_categories: "[]",
      status: "PAUSED",
      is_adset_budget_sharing_enabled: "false",
    });
    t.same((await advertiser.read(`/campaigns/${body.id}`)).body, {
      ...body,
      effective_status: "PAUSED",
    });
  });

  t.test("every field reaches the platform and is read back", async (t) => {
    const fields = {
      name: "Housing",
      objective: "OUTCOME_LEADS",
      special_ad_categories: ["HOUSING"],
      special_ad_category_country: ["BR", "US"],
      buying_type: "AUCTION",
      status: "ACTIVE",
      lifetime_budget: 50_000,
      spend_cap: 100_000,
      bid_strategy: "LOWEST_COST_WITHOUT_CAP",
      start_time: START,
      stop_time: STOP,
    };
    const { status, body } = await advertiser.create("campaigns", fields);
    t.equal(status, 201);
    t.match(body, {
      ...fields,
      lifetime_budget: "50000",
      spend_cap: "100000",
      stop_time: "2027-02-01T00:00:00-0300",
    });
    t.match((await receivedWrites(context)).at(-1)?.body, {
      special_ad_category_country: '["BR","US"]',
      start_time: START,
      stop_time: STOP,
      is_adset_budget_sharing_enabled: undefined,
    });
    const edited = await advertiser.edit(`/campaigns/${body.id}`, {
      special_ad_category_country: ["BR"],
      lifetime_budget: 60_000,
      status: "PAUSED",
    });
    t.match(edited, {
      status: 200,
      body: { special_ad_category_country: ["BR"], lifetime_budget: "60000", status: "PAUSED" },
    });
  });

  t.test("bad input is refused with a message in words", async (t) => {
    const refusals: readonly (readonly [fields: object, path: string, message: RegExp])[] = [
      [
        { daily_budget: 1, lifetime_budget: 1 },
        "/daily_budget",
        /^daily_budget and lifetime_budget are mutually exclusive$/,
      ],
      [{ daily_budget: "100" }, "/daily_budget", /must be an integer/],
      [{ daily_budget: 1.5 }, "/daily_budget", /must be an integer/],
      [{ daily_budget: -1 }, "/daily_budget", /must be at least 0/],
      [{ spend_cap: 1e21 }, "/spend_cap", /must be at most 9007199254740991/],
      [{ objective: "FAME" }, "/objective", /must be one of APP_INSTALLS, /],
      [{ objective: undefined }, "/objective", /is required/],
      [{ name: "" }, "/name", /must not be empty/],
      [{ status: "RUNNING" }, "/status", /must be one of ACTIVE, PAUSED, DELETED, ARCHIVED/],
      [{ special_ad_categories: ["CARS"] }, "/special_ad_categories/0", /must be one of NONE, /],
      [{ special_ad_categories: "HOUSING" }, "/special_ad_categories", /must be a list/],
      [{ special_ad_category_country: [1] }, "/special_ad_category_country/0", /must be a string/],
      [{ buying_type: "BARTER" }, "/buying_type", /must be one of AUCTION, RESERVED/],
      [{ bid_strategy: null }, "/bid_strategy", /must be a string/],
      [{ start_time: "tomorrow" }, "/start_time", /^start_time must be a time with an offset/],
      [{ start_time: "2027-01-01" }, "/start_time", /must be a time/],
      [{ start_time: "2027-02-30T00:00:00Z" }, "/start_time", /must be a time/],
      [{ stop_time: "2027-01-01T00:00:00" }, "/stop_time", /must be a time/],
      [{ end_time: STOP }, "/end_time", /is not a known field/],
      [
        { ad_account_id: "9a1ffd1c-61ea-4a3d-b3f3-2c1a3e6f7b10" },
        "/ad_account_id",
        /such as act_1600000000000101, not its UUID$/,
      ],
    ];
    const writes = (await receivedWrites(context)).length;
    for (const [fields, path, message] of refusals)
      t.match(
        await advertiser.create("campaigns", fields),
        { status: 400, body: { error: "validation_failed", details: [{ path, message }] } },
        JSON.stringify(fields),
      );
    t.match(await advertiser.edit("/campaigns/1", { daily_budget: 1, lifetime_budget: 1 }), {
      status: 400,
      body: { details: [{ path: "/daily_budget" }] },
    });
    for (const field of ["objective", "buying_type"])
      t.match(await advertiser.edit("/campaigns/1", { [field]: "AUCTION" }), {
        status: 400,
        body: { message: `${field} cannot be changed after creation` },
      });
    t.equal((await receivedWrites(context)).length, writes);
  });

  t.test("a refusal of the platform is returned mapped", async (t) => {
    t.match(await advertiser.create("campaigns", { daily_budget: 1 }), {
      status: 400,
      body: {
        error: "platform_invalid_request",
        retryable: false,
        message: String,
        platform_error: { code: 100, subcode: 1885272, fields: ["daily_budget"] },
      },
    });
    t.match(await advertiser.create("campaigns", { objective: "LINK_CLICKS" }), {
      status: 400,
      body: { error: "platform_invalid_request" },
    });
    const other = await makeActiveAdvertiser(context, { account: "1600000000000107" });
    t.match(await other.create("campaigns", { name: "throttle me" }), {
      status: 429,
      body: { error: "platform_rate_limited", retryable: true },
    });
  });
});
