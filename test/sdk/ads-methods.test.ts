import { type Herald, type List, ReportFailedError } from "@herald/sdk";
import t, { type Test } from "tap";
import { TINY_IMAGES } from "../fixtures/images/images.ts";
import { redirectOf, submitDialog } from "../fixtures/sandbox/dialogs.ts";
import type { RunningSandbox } from "../fixtures/sandbox/sandbox.ts";
import { createRecordedSdk } from "../fixtures/sdk/recorded-sdk.ts";
import { COFFEE_ACCOUNT_ID, startAdsContext, WHOLESALE_ACCOUNT_ID } from "../fixtures/tenants/ad-grants.ts";
import { NEW_OBJECTS } from "../fixtures/tenants/ad-objects.ts";
import { makeTenant } from "../fixtures/tenants/tenants.ts";

const ad_account_id = `act_${COFFEE_ACCOUNT_ID}`;

async function checkTerms(t: Test, owner: Herald): Promise<void> {
  const { version, text } = await owner.terms.text();
  t.ok(text.length > 100);
  t.match(await owner.terms.accept({ version }), { version, accepted: true });
  t.match(await owner.terms.status(), { current_version_accepted: true, accepted_by: { role: "owner" } });
}

async function checkAdAccounts(t: Test, { adAccounts }: Herald, sandbox: RunningSandbox): Promise<void> {
  const { url, state, redirect_uri } = await adAccounts.oauthUrl();
  const request = Object.fromEntries(new URL(url).searchParams);
  const assets = [COFFEE_ACCOUNT_ID, WHOLESALE_ACCOUNT_ID];
  const redirect = await redirectOf(submitDialog(sandbox, { dialog: "oauth", request, assets }));
  const code = String(redirect.searchParams.get("code"));
  const connected = await adAccounts.exchangeCode({ code, state, redirect_uri });
  t.same(
    connected.map(({ status }) => status),
    ["available", "available"],
  );
  const id = String(connected.find((account) => account.ad_account_id === ad_account_id)?.id);
  t.match(await adAccounts.update(id, { status: "active" }), { id, status: "active" });
  t.match(await adAccounts.refresh(id), { id, name: "Sandbox Coffee" });
  t.match(await adAccounts.get(id), { ad_account_id, currency: "BRL" });
  const pages: number[] = [];
  for await (const { data } of adAccounts.list({ limit: 1 }).pages()) pages.push(data.length);
  t.same(pages, [1, 1]);
}

type NamedObject = { id: string; name?: string };

/** The methods that campaigns, ad sets and ads have in common. */
interface AdObjects<Body> {
  create(body: Body): Promise<NamedObject>;
  validate(body: Body): Promise<void>;
  get(id: string, query: { ad_account_id: string }): Promise<NamedObject>;
  list(query: { ad_account_id: string; limit: number }): List<NamedObject>;
  update(id: string, body: { ad_account_id: string; name: string }): Promise<NamedObject>;
  validateUpdate(id: string, body: { ad_account_id: string; name: string }): Promise<void>;
}

/** Creates two objects, changes the first and returns its id. */
async function checkObjects<Body extends object>(t: Test, objects: AdObjects<Body>, body: Body) {
  const list = objects.list({ ad_account_id, limit: 1 });
  t.equal(await objects.validate(body), undefined);
  t.same(await list.toArray({ limit: 5 }), [], "validate creates nothing");
  const { id } = await objects.create(body);
  const second = await objects.create({ ...body, name: "Second" });
  const ids = (await list.toArray({ limit: 5 })).map((object) => object.id);
  t.same(ids.sort(), [id, second.id].sort());
  t.match(await list.page(), { data: { length: 1 }, paging: { has_more: true } });

  const change = { ad_account_id, name: "Changed" };
  t.equal(await objects.validateUpdate(id, change), undefined);
  t.not((await objects.get(id, { ad_account_id })).name, "Changed", "validateUpdate changes nothing");
  t.match(await objects.update(id, change), { id, name: "Changed" });
  return id;
}

async function checkAdObjects(t: Test, { campaigns, adSets, creatives, ads }: Herald): Promise<void> {
  const campaign_id = await checkObjects(t, campaigns, { ad_account_id, ...NEW_OBJECTS.campaigns });
  const adset_id = await checkObjects(t, adSets, { ad_account_id, campaign_id, ...NEW_OBJECTS.adsets });
  const body = { ad_account_id, ...NEW_OBJECTS.creatives };
  const listed = creatives.list({ ad_account_id });
  t.equal(await creatives.validate(body), undefined);
  t.same(await listed.toArray({ limit: 1 }), [], "validate creates nothing");
  const { id: creative_id } = await creatives.create(body);
  t.match(await listed.toArray({ limit: 5 }), [{ id: creative_id }]);
  t.match(await creatives.get(creative_id, { ad_account_id }), { id: creative_id, name: body.name });
  await checkObjects(t, ads, { ad_account_id, adset_id, creative: { creative_id }, ...NEW_OBJECTS.ads });
}

async function checkMedia(t: Test, { media }: Herald): Promise<void> {
  const image = await media.uploadImage({ ad_account_id, bytes_base64: TINY_IMAGES.png });
  t.match(image, { hash: String, width: 3, height: 2 });
  const file_url = "https://shop.example/film.mp4";
  const { id } = await media.registerVideo({ ad_account_id, file_url });
  t.match(await media.getVideo(id, { ad_account_id }), { id, errors: [] });
}

async function checkInsights(t: Test, { insights }: Herald): Promise<void> {
  const period = { since: "2026-09-01", until: "2026-09-03", time_increment: "1" };
  const query = { ad_account_id, fields: "spend", ...period };
  const rows = await insights.query({ ...query, limit: 2 }).toArray({ limit: 10 });
  t.same(
    rows.map(({ date_start }) => date_start),
    ["2026-09-01", "2026-09-02", "2026-09-03"],
  );
  t.equal(linesOf(await insights.queryCsv(query)), 4);
  t.match(await insights.summary({ ad_account_id, date_preset: "last_7d" }), { by_day: { length: 7 } });

  const report = insights.report(query);
  t.equal((await report.rows().toArray({ limit: 10 })).length, 3);
  t.equal(linesOf(await report.csv()), 4);
  const { report_run_id: id } = await report.run();
  t.match(await insights.getReport(id), { report_run_id: id, async_status: "Job Completed" });
  t.equal((await insights.reportRows(id, { limit: 2 }).page()).data.length, 2);
  t.equal(linesOf(await insights.reportRowsCsv(id)), 4);
  t.match(await insights.createReport(query), { report_run_id: String, async_percent_completion: Number });
}

async function checkFailedReport(t: Test, { insights, campaigns }: Herald): Promise<void> {
  const failing = { ad_account_id, ...NEW_OBJECTS.campaigns, name: "fail report" };
  const { id: object_id } = await campaigns.create(failing);
  const report = insights.report({ ad_account_id, object_id });
  const error = await report.run().catch((reason: unknown) => reason);
  t.ok(error instanceof ReportFailedError);
  t.match(error, { code: "report_failed", run: { async_status: "Job Failed" } });
}

const linesOf = (csv: string): number => csv.trimEnd().split("\r\n").length;

t.test("every method of advertising succeeds at the service", async (t) => {
  // Reports end before their status is read: a status is cached for five seconds.
  const { api, sandbox } = await startAdsContext(t, { pace: 0 });
  const tenant = await makeTenant(api);
  const sdk = createRecordedSdk(api.address);
  const key = await tenant.createKey("marketing:read", "marketing:manage");
  const herald = sdk.open({ apiKey: key.text });
  const owner = sdk.open({ userToken: (await tenant.createUser("owner")).token });

  await t.test("terms", (t) => checkTerms(t, owner));
  await t.test("adAccounts", (t) => checkAdAccounts(t, herald, sandbox));
  await t.test("campaigns, adSets, creatives, ads", (t) => checkAdObjects(t, herald));
  await t.test("media", (t) => checkMedia(t, herald));
  await t.test("insights", (t) => checkInsights(t, herald));
  await t.test("a report that fails", (t) => checkFailedReport(t, herald));
  await t.test("enums", async (t) => t.ok((await herald.enums.get()).objective.includes("OUTCOME_TRAFFIC")));
  sdk.checkCoverage(t, await herald.service.openapi(), "ads");
});
