import t from "tap";
import type { ReceivedCall } from "../../../fixtures/platforms/platforms.ts";
import { callSandbox } from "../../../fixtures/sandbox/sandbox.ts";
import { startAdsContext } from "../../../fixtures/tenants/ad-grants.ts";
import { type ActiveAdvertiser, makeActiveAdvertiser } from "../../../fixtures/tenants/ad-objects.ts";
import { startReport, untilEnded } from "../../../fixtures/tenants/insights-reports.ts";
import { until } from "../../../fixtures/until.ts";

/** The days of the period: enough for several pages of 500 rows. */
const DAYS = 100;

/** Below the deadline of a platform call: an export of a caller that has gone does not wait for it. */
const MAX_EXPORT_MS = 15_000;

const LINES = /^(?:[^\r\n]*\r\n)+$/;

t.test("insights as CSV", async (t) => {
  const warnings: Error[] = [];
  const keepWarning = (warning: Error) => void warnings.push(warning);
  process.on("warning", keepWarning);
  t.teardown(() => process.off("warning", keepWarning));
  const context = await startAdsContext(t);
  const advertiser = await makeActiveAdvertiser(context);
  const key = await advertiser.createKey("marketing:read");
  const readCsv = (path: string, headers = key.headers) =>
    context.api.call("GET", `/api/marketing/insights${path}`, {
      headers: { ...headers, accept: "text/csv" },
    });
  const account = `ad_account_id=${advertiser.adAccountId}`;
  const period = "since=2026-01-01&until=2026-04-10&time_increment=1";

  t.test("a query returns all rows, whatever their number", async (t) => {
    const { status, headers, text } = await readCsv(
      `?${account}&${period}&breakdowns=gender,country&fields=spend,actions`,
    );
    t.equal(status, 200);
    t.equal(headers.get("content-type"), "text/csv; charset=utf-8; header=present");
    t.match(text, LINES);
    const [header, ...rows] = text.trimEnd().split("\r\n");
    t.equal(
      header,
      "gender,country,spend,actions.link_click,actions.page_engagement,actions.post_engagement,date_start,date_stop,other_actions",
    );
    t.equal(rows.length, DAYS * 9);
    t.match(rows[0], /^female,BR,\d+\.\d\d,\d+,\d+,\d+,2026-01-01,2026-01-01,$/);
    t.notMatch(text, /access_token|EAA/);
  });

  t.test("without rows, the file has a header", async (t) => {
    const { body: campaign } = await advertiser.create("campaigns", { name: "no delivery" });
    const { text } = await readCsv(`?${account}&object_id=${campaign.id}`);
    t.equal(
      text,
      "impressions,clicks,spend,reach,frequency,cpc,cpm,ctr,date_start,date_stop,other_actions\r\n",
    );
  });

  t.test("the results of a report have the report's columns", async (t) => {
    const fields = {
      fields: "spend,campaign_name",
      breakdowns: "age",
      since: "2026-09-01",
      until: "2026-09-02",
    };
    const id = await startReport(advertiser, { date_preset: undefined, ...fields });
    await untilEnded(context, id);
    const { text } = await readCsv(`/reports/${id}/results`);
    const [header, ...rows] = text.trimEnd().split("\r\n");
    t.equal(header, "age,spend,campaign_name,date_start,date_stop");
    t.equal(rows.length, 6);
    t.match(
      await context.api.call("GET", `/api/marketing/insights/reports/${id}/results`, {
        headers: key.headers,
      }),
      {
        body: { data: { length: 6 } },
      },
    );
  });

  t.test("a client exports one file at a time, until it has ended or the caller has gone", async (t) => {
    const other = await makeActiveAdvertiser(context);
    const { headers: otherHeaders } = await other.createKey("marketing:read");
    const query = `?${account}&date_preset=yesterday`;
    await context.arm({ kind: "delay", ms: 600_000, match: { path_prefix: "/act_" } });
    const caller = new AbortController();
    const first = fetch(`${context.api.address}/api/marketing/insights${query}`, {
      headers: { ...key.headers, accept: "text/csv", "x-request-id": "first-export" },
      signal: caller.signal,
    });
    first.catch(() => {});
    await until("the first export waits for the platform", async () => {
      const { body } = await callSandbox(`${context.sandbox.origin}/_sandbox/requests`);
      return body.data.some((call: ReceivedCall) => call.query.date_preset === "yesterday");
    });
    const second = await readCsv(query);
    t.equal(second.status, 429);
    t.equal(second.headers.get("retry-after"), "5");
    t.match(second.body, { error: "rate_limited" });
    t.equal((await readCsv(`?ad_account_id=${other.adAccountId}`, otherHeaders)).status, 200);
    t.equal(
      (await context.api.call("GET", `/api/marketing/insights${query}`, { headers: key.headers })).status,
      200,
      "JSON is not limited",
    );
    caller.abort();
    const line = await until("the first export has ended", () =>
      context.api.lines.find(
        ({ event, request_id }) => event === "http.request" && request_id === "first-export",
      ),
    );
    t.ok(Number(line.ms) < MAX_EXPORT_MS, `${line.ms} ms`);
    t.equal((await readCsv(query)).status, 200);
    t.notOk(context.api.lines.some(({ event }) => event === "http.failed"));
  });

  t.test("a page cannot be selected", async (t) => {
    const id = await startReport(advertiser);
    for (const path of [`?${account}&`, `/reports/${id}/results?`])
      for (const [name, value] of [
        ["limit", "10"],
        ["after", "x"],
      ])
        t.match(await readCsv(`${path}${name}=${value}`), {
          status: 400,
          body: { error: "validation_failed", details: [{ path: `/${name}` }] },
        });
  });

  t.test("an error before the first row is JSON, a later one breaks the connection", async (t) => {
    const fault = { kind: "error", code: 100, times: 1 } as const;
    await context.arm({ ...fault, match: { path_prefix: `/${advertiser.adAccountId}/insights` } });
    t.match(await readCsv(`?${account}&${period}`), {
      status: 400,
      body: { error: "platform_invalid_request" },
    });
    t.match(await readCsv(`?${account}&breakdowns=age,gender,country,region`), {
      status: 400,
      body: { message: /start a report/ },
    });
    const id = await startReport(advertiser, {
      date_preset: undefined,
      since: "2026-01-01",
      until: "2026-04-10",
      time_increment: "1",
      breakdowns: "age,country",
    });
    await untilEnded(context, id);
    // The first page meets the delay, the second one the error.
    await context.arm({ kind: "delay", ms: 0, times: 2, match: { path_prefix: `/${id}` } });
    await context.arm({ ...fault, code: 10, match: { path_prefix: `/${id}/insights` } });
    await t.rejects(readCsv(`/reports/${id}/results`), "the connection is broken");
    await context.clearFaults();
    t.equal((await readCsv(`/reports/${id}/results`)).text.trimEnd().split("\r\n").length, 1 + DAYS * 18);
  });

  t.test("other clients and other scopes are refused", async (t) => {
    const other: ActiveAdvertiser = await makeActiveAdvertiser(context);
    const id = await startReport(other);
    t.match(await readCsv(`/reports/${id}/results?${account}`), { status: 404 });
    const { headers } = await advertiser.createKey("messages:send");
    t.match(await readCsv(`?${account}`, headers), { status: 403, body: { error: "insufficient_scope" } });
  });

  t.test("a streamed response causes no warning of the runtime", async (t) => {
    t.same(warnings, []);
  });
});
