import t from "tap";
import { callSandbox } from "../../../fixtures/sandbox/sandbox.ts";
import { startAdsContext } from "../../../fixtures/tenants/ad-grants.ts";
import { makeActiveAdvertiser, makeAdObjects } from "../../../fixtures/tenants/ad-objects.ts";

const WEEK = "since=2026-09-01&until=2026-09-07&time_increment=1";

t.test("insights", async (t) => {
  const context = await startAdsContext(t);
  const advertiser = await makeActiveAdvertiser(context);
  const query = (parameters: string) => advertiser.read(`/insights?${parameters}`);
  const lastRequest = async () => {
    const { body } = await callSandbox(`${context.sandbox.origin}/_sandbox/requests`);
    const { path, query } = body.data[0] as { path: string; query: Record<string, string> };
    const { appsecret_proof: _, ...rest } = query;
    return { path, query: rest };
  };

  t.test("rows have the default fields, verbatim, beside the account's currency", async (t) => {
    const { status, body, text } = await query("date_preset=last_30d");
    t.equal(status, 200);
    t.equal(body.currency, "BRL");
    t.match(body.paging, { has_more: false });
    const [row] = body.data;
    t.match(row, {
      impressions: /^\d+$/,
      spend: /^\d+\.\d\d$/,
      actions: [{ action_type: String, value: /^\d+$/ }],
    });
    t.same(Object.keys(row).sort(), [
      ...["actions", "clicks", "cpc", "cpm", "ctr", "date_start", "date_stop", "frequency", "impressions"],
      ...["reach", "spend"],
    ]);
    t.notMatch(text, /access_token|EAA/, "the answer has no token");
    t.same((await lastRequest()).query, {
      fields: "impressions,clicks,spend,reach,frequency,cpc,cpm,ctr,actions",
      date_preset: "last_30d",
      limit: "25",
    });
  });

  t.test("rows page to the end and back", async (t) => {
    const whole = await query(`${WEEK}&limit=500`);
    t.equal(whole.body.data.length, 7);
    const rows: unknown[] = [];
    let [after, pages] = ["", 0];
    for (;;) {
      const { body, text } = await query(`${WEEK}&limit=3${after && `&after=${after}`}`);
      t.notMatch(text, /access_token|EAA/);
      rows.push(...body.data);
      pages += 1;
      if (!body.paging.has_more) {
        const previous = await query(`${WEEK}&limit=3&before=${body.paging.cursors.before}`);
        t.same(previous.body.data, whole.body.data.slice(3, 6));
        t.equal(previous.body.paging.has_more, true);
        const firstRows = await query(`${WEEK}&limit=3&before=${previous.body.paging.cursors.before}`);
        t.same(firstRows.body.data, whole.body.data.slice(0, 3));
        t.equal(firstRows.body.paging.has_more, false);
        break;
      }
      after = body.paging.cursors.after;
    }
    t.equal(pages, 3);
    t.same(rows, whole.body.data);
    t.match(await query(`${WEEK}&limit=3&level=campaign&after=${after}`), {
      status: 400,
      body: { error: "validation_failed", details: [{ path: "/after" }] },
    });
  });

  t.test("every parameter reaches the platform", async (t) => {
    const { campaign } = await makeAdObjects(advertiser);
    const filtering = JSON.stringify([{ field: "impressions", operator: "GREATER_THAN", value: 0 }]);
    const { status } = await query(
      `object_id=${campaign}&level=ad&fields=ad_name,%20spend,spend&since=2026-09-01&until=2026-09-07&time_increment=7` +
        `&breakdowns=age,gender&action_breakdowns=action_type&sort=spend_descending&limit=10&filtering=${encodeURIComponent(filtering)}`,
    );
    t.equal(status, 200);
    t.same(await lastRequest(), {
      path: `/v26.0/${campaign}/insights`,
      query: {
        fields: "ad_name,spend",
        level: "ad",
        time_range: '{"since":"2026-09-01","until":"2026-09-07"}',
        time_increment: "7",
        breakdowns: "age,gender",
        action_breakdowns: "action_type",
        filtering,
        sort: '["spend_descending"]',
        limit: "10",
      },
    });
  });

  t.test("bad parameters are refused before the platform is called", async (t) => {
    const refusals: readonly (readonly [parameters: string, path: string])[] = [
      ["date_preset=last_7d&since=2026-09-01&until=2026-09-02", "/date_preset"],
      ["date_preset=last_7d&until=2026-09-02", "/date_preset"],
      ["since=2026-09-01", "/until"],
      ["until=2026-09-01", "/since"],
      ["since=yesterday&until=2026-09-01", "/since"],
      ["since=2026-02-30&until=2026-09-01", "/since"],
      ["level=pixel", "/level"],
      ["object_id=act_1", "/object_id"],
      ["object_id=1%2F2", "/object_id"],
      ["limit=501", "/limit"],
      ["limit=0", "/limit"],
      ["fields=", "/fields"],
      ["fields=,%20,", "/fields"],
      ["filtering=impressions", "/filtering"],
      ["filtering={}", "/filtering"],
      ["filtering=[1]", "/filtering"],
      [`filtering=${"[".repeat(3_000)}`, "/filtering"],
      ["after=x", "/after"],
      ["breakdown=age", "/breakdown"],
    ];
    const before = await lastRequest();
    for (const [parameters, path] of refusals)
      t.match(
        await query(parameters),
        { status: 400, body: { error: "validation_failed", details: [{ path }] } },
        parameters.slice(0, 60),
      );
    t.same(await lastRequest(), before);
    t.match(await advertiser.call("GET", "/insights"), { status: 400 }, "ad_account_id is required");
    t.match(await query("date_preset=lifetime"), {
      status: 400,
      body: { error: "platform_invalid_request", platform_error: { code: 100 } },
    });
  });

  t.test("a query with too much data recommends a report", async (t) => {
    t.match(await query("breakdowns=age,gender,country,region"), {
      status: 400,
      body: {
        error: "platform_invalid_request",
        message: /: start a report with POST \/api\/marketing\/insights\/reports instead$/,
        platform_error: { subcode: 1487534 },
      },
    });
    t.match(await query("date_preset=lifetime"), { body: { message: /^((?!start a report).)*$/ } });
  });

  t.test("an account that is not active has no insights", async (t) => {
    const other = await makeActiveAdvertiser(context);
    await other.call("PATCH", `/ad-accounts/${other.accountId}`, { status: "disabled" });
    t.match(await other.read("/insights"), { status: 409, body: { error: "ad_account_not_active" } });
  });
});
