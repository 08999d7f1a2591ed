import t from "tap";
import { readClientEvents } from "../../../fixtures/platforms/webhooks.ts";
import { issueAdToken } from "../../../fixtures/sandbox/ad-platform.ts";
import { callSandbox } from "../../../fixtures/sandbox/sandbox.ts";
import {
  COFFEE_ACCOUNT_ID,
  startAdsContext,
  WHOLESALE_ACCOUNT_ID,
} from "../../../fixtures/tenants/ad-grants.ts";
import { makeActiveAdvertiser } from "../../../fixtures/tenants/ad-objects.ts";
import {
  ageStatuses,
  clearRequests,
  readResults,
  readStatus,
  receivedRequests,
  startReport,
  untilEnded,
} from "../../../fixtures/tenants/insights-reports.ts";

/** The platform is asked for a status at most this often. */
const STATUS_READ_MS = 5_000;

/** Runs the requests and returns how often the platform may have been asked meanwhile: once, unless they took long. */
async function maxReadsDuring(requests: () => Promise<unknown>): Promise<number> {
  const startedAt = Date.now();
  await requests();
  return 1 + Math.floor((Date.now() - startedAt) / STATUS_READ_MS);
}

const WEEK = { since: "2026-09-01", until: "2026-09-07", date_preset: undefined, time_increment: 1 };

t.test("reports that the platform completes", async (t) => {
  const context = await startAdsContext(t);
  const advertiser = await makeActiveAdvertiser(context);

  t.test("a report is started with the query's names in JSON", async (t) => {
    const fields = {
      level: "campaign",
      fields: "impressions,spend",
      ...WEEK,
      breakdowns: "age",
      filtering: [{ field: "impressions", operator: "GREATER_THAN", value: 0 }],
      sort: "spend_descending",
    };
    const body = { ad_account_id: advertiser.adAccountId, ...fields };
    const reply = await advertiser.call("POST", "/insights/reports", body);
    t.match(reply, {
      status: 202,
      body: { report_run_id: /^\d+$/, async_status: "Job Not Started", async_percent_completion: 0 },
    });
    t.equal(reply.headers.get("location"), `/api/marketing/insights/reports/${reply.body.report_run_id}`);
    t.notOk("error_code" in reply.body);
    const { body: received } = await callSandbox(`${context.sandbox.origin}/_sandbox/requests`);
    t.match(received.data[0], {
      method: "POST",
      path: `/v26.0/${advertiser.adAccountId}/insights`,
      body: {
        level: "campaign",
        fields: "impressions,spend",
        time_range: '{"since":"2026-09-01","until":"2026-09-07"}',
        time_increment: "1",
        filtering: '[{"field":"impressions","operator":"GREATER_THAN","value":0}]',
        sort: '["spend_descending"]',
      },
    });
  });

  t.test("its rows page to the end, and their sums equal those of the query", async (t) => {
    const id = await startReport(advertiser, WEEK);
    await untilEnded(context, id);
    t.same((await readStatus(advertiser, id)).body, {
      report_run_id: id,
      async_status: "Job Completed",
      async_percent_completion: 100,
    });
    const spend: number[] = [];
    for (let after = ""; ; ) {
      const { status, body, text } = await readResults(
        advertiser,
        id,
        `?limit=3${after && `&after=${after}`}`,
      );
      t.equal(status, 200);
      t.equal(body.currency, "BRL");
      t.notMatch(text, /access_token|EAA/);
      spend.push(...body.data.map((row: { spend: string }) => Number(row.spend)));
      if (!body.paging.has_more) break;
      after = body.paging.cursors.after;
    }
    t.equal(spend.length, 7);
    const { body } = await advertiser.read("/insights?since=2026-09-01&until=2026-09-07");
    t.equal(spend.reduce((sum, one) => sum + one, 0).toFixed(2), body.data[0].spend);
    const { body: page } = await readResults(advertiser, id, "?limit=3");
    const other = await startReport(advertiser, WEEK);
    t.match(await readResults(advertiser, other, `?after=${page.paging.cursors.after}`), {
      status: 400,
      body: { details: [{ path: "/after" }] },
    });
  });

  t.test("a read status that has ended is announced at once, and once", async (t) => {
    const other = await makeActiveAdvertiser(context);
    const id = await startReport(other, WEEK);
    await untilEnded(context, id);
    await Promise.all(Array.from({ length: 5 }, () => readStatus(other, id)));
    await ageStatuses(context, 10);
    await readStatus(other, id);
    const events = (await readClientEvents(context.api, other.id)).filter(({ type }) =>
      type.startsWith("insights."),
    );
    t.equal(events.length, 1);
    t.match(events[0], {
      type: "insights.report.completed",
      key: "marketing",
      ad_account_id: other.adAccountId,
      payload: {
        data: { report_run_id: id, async_status: "Job Completed", async_percent_completion: 100 },
      },
    });
  });

  t.test("failed and skipped runs have an error message", async (t) => {
    for (const [name, error] of [
      ["fail report", { error_code: 100, error_message: "Invalid parameter" }],
      ["skip report", { error_message: /expired/ }],
    ] as const) {
      const { body: campaign } = await advertiser.create("campaigns", { name });
      const id = await startReport(advertiser, { object_id: campaign.id });
      await untilEnded(context, id);
      t.match(await readStatus(advertiser, id), {
        status: 200,
        body: { report_run_id: id, async_status: "Job Failed", ...error },
      });
      t.match(await readResults(advertiser, id), { status: 200, body: { data: [] } });
    }
  });

  t.test("a run that was not started here is read with its account", async (t) => {
    const token = issueAdToken([COFFEE_ACCOUNT_ID]);
    const start = await callSandbox(`${context.sandbox.base}/act_${COFFEE_ACCOUNT_ID}/insights`, {
      token,
      form: {
        fields: "spend",
        time_range: '{"since":"2026-09-01","until":"2026-09-07"}',
        time_increment: "1",
      },
    });
    const id = start.body.report_run_id;
    await untilEnded(context, id);
    const account = `?ad_account_id=${advertiser.adAccountId}`;
    for (const read of [readStatus, readResults])
      t.match(await read(advertiser, id), {
        status: 400,
        body: { error: "validation_failed", details: [{ path: "/ad_account_id" }] },
      });
    await clearRequests(context);
    const readAll = async () => {
      const reads = await Promise.all(Array.from({ length: 5 }, () => readStatus(advertiser, id, account)));
      for (const read of reads)
        t.match(read, { status: 200, body: { report_run_id: id, async_status: "Job Completed" } });
    };
    const maxReads = await maxReadsDuring(readAll);
    const [first, ...more] = await receivedRequests(context);
    t.equal(first, `GET /${id}`);
    t.ok(more.length < maxReads, "the platform is called once");
    t.match(await readResults(advertiser, id, `${account}&limit=500`), {
      status: 200,
      body: { data: { length: 7 } },
    });
    t.same(
      (await readClientEvents(context.api, advertiser.id)).filter(
        ({ payload }) => payload.data.report_run_id === id,
      ),
      [],
      "it is not announced",
    );
    const other = await makeActiveAdvertiser(context, {
      account: WHOLESALE_ACCOUNT_ID,
      reachable: [COFFEE_ACCOUNT_ID],
    });
    for (const read of [readStatus, readResults])
      t.match(
        await read(other, id, `?ad_account_id=${other.adAccountId}`),
        { status: 404, body: { error: "platform_object_not_found" } },
        "the run belongs to an account that only the token reaches",
      );
  });

  t.test("another client's run counts as unknown, even if both hold the account", async (t) => {
    const other = await makeActiveAdvertiser(context);
    const id = await startReport(other);
    for (const read of [readStatus, readResults]) {
      t.match(await read(advertiser, id), { status: 400, body: { error: "validation_failed" } });
      t.match(await read(advertiser, id, `?ad_account_id=${advertiser.adAccountId}`), {
        status: 404,
        body: { error: "platform_object_not_found" },
      });
      t.match(await read(other, id), { status: 200 });
      t.match(await read(other, id, `?ad_account_id=act_${WHOLESALE_ACCOUNT_ID}`), { status: 404 });
    }
  });

  t.test("an ad object is no report run, and a report run is no ad object", async (t) => {
    const notFound = { status: 404, body: { error: "platform_object_not_found" } };
    const account = `ad_account_id=${advertiser.adAccountId}`;
    const { body: campaign } = await advertiser.create("campaigns", { name: "no run" });
    t.match(await advertiser.read(`/insights?object_id=${campaign.id}`), { status: 200 });
    for (const read of [readResults, readStatus])
      t.match(await read(advertiser, campaign.id, `?${account}`), notFound);
    const id = await startReport(advertiser, WEEK);
    await untilEnded(context, id);
    t.match(await advertiser.read(`/insights?object_id=${id}`), notFound);
    const report = { ad_account_id: advertiser.adAccountId, object_id: id, date_preset: "last_7d" };
    t.match(await advertiser.call("POST", "/insights/reports", report), notFound);
    t.match(await readResults(advertiser, id), { status: 200, body: { data: { length: 7 } } });
  });

  t.test("an unknown or expired run is the platform's error", async (t) => {
    const account = `?ad_account_id=${advertiser.adAccountId}`;
    for (const read of [readStatus, readResults]) {
      t.match(await read(advertiser, "120000000000000001", account), {
        status: 404,
        body: { error: "platform_object_not_found", platform_error: { code: 100, subcode: 33 } },
      });
      t.match(await read(advertiser, "act_1", account), {
        status: 400,
        body: { error: "validation_failed" },
      });
    }
    const id = await startReport(advertiser);
    await context.arm({ kind: "error", code: 100, subcode: 33, times: 1, match: { path_prefix: `/${id}` } });
    t.match(await readStatus(advertiser, id), { status: 404, body: { error: "platform_object_not_found" } });
  });

  t.test("bad input is refused", async (t) => {
    const refusals: readonly (readonly [fields: object, path: string])[] = [
      [{ since: "2026-09-01" }, "/date_preset"],
      [{ date_preset: undefined, since: "2026-09-01" }, "/until"],
      [{ fields: ["spend"] }, "/fields"],
      [{ filtering: "[]" }, "/filtering"],
      [{ filtering: [1] }, "/filtering/0"],
      [{ level: "pixel" }, "/level"],
      [{ time_increment: 0.5 }, "/time_increment"],
      [{ object_id: 12 }, "/object_id"],
      [{ limit: 5 }, "/limit"],
    ];
    for (const [fields, path] of refusals) {
      const body = { ad_account_id: advertiser.adAccountId, date_preset: "last_7d", ...fields };
      t.match(
        await advertiser.call("POST", "/insights/reports", body),
        { status: 400, body: { error: "validation_failed", details: [{ path }] } },
        JSON.stringify(fields),
      );
    }
  });
});

t.test("reports that run for long", async (t) => {
  const context = await startAdsContext(t, { pace: 1_000 });
  const advertiser = await makeActiveAdvertiser(context);

  t.test("a status is read from the platform at most once in 5 seconds", async (t) => {
    const id = await startReport(advertiser);
    await clearRequests(context);
    const readAll = async () => {
      const runs = await Promise.all(Array.from({ length: 20 }, () => readStatus(advertiser, id)));
      for (const { body } of runs) t.match(body, { report_run_id: id, async_status: "Job Not Started" });
    };
    const maxReads = await maxReadsDuring(readAll);
    const reads = await receivedRequests(context);
    t.ok(reads.length >= 1 && reads.length <= maxReads, `${reads.length} of at most ${maxReads} reads`);
    t.same([...new Set(reads)], [`GET /${id}`]);
    await clearRequests(context);
    await ageStatuses(context, 6);
    const maxFurther = await maxReadsDuring(() =>
      Promise.all([readStatus(advertiser, id), readStatus(advertiser, id)]),
    );
    const further = await receivedRequests(context);
    t.ok(further.length >= 1 && further.length <= maxFurther, `${further.length} of at most ${maxFurther}`);
  });

  t.test("a failed read is repeated by the next request", async (t) => {
    const id = await startReport(advertiser);
    await context.arm({ kind: "error", code: 368, times: 1, match: { path_prefix: `/${id}` } });
    t.match(await readStatus(advertiser, id), { status: 403 });
    t.match(await readStatus(advertiser, id), { status: 200, body: { async_status: "Job Not Started" } });
  });

  t.test("a read that another process began and did not complete is repeated after 5 seconds", async (t) => {
    const id = await startReport(advertiser);
    await context.api.db.query("update insights_reports set read_started_at = now() where id = $1", [id]);
    const waiting = readStatus(advertiser, id);
    await ageStatuses(context, 6);
    t.match(await waiting, { status: 200, body: { async_status: "Job Not Started" } });
  });

  t.test("results are empty before completion, also if the platform answers with an error", async (t) => {
    const id = await startReport(advertiser);
    const empty = {
      status: 200,
      body: {
        data: [],
        currency: "BRL",
        paging: { cursors: { before: null, after: null }, has_more: false },
      },
    };
    t.match(await readResults(advertiser, id), empty);
    for (const code of [100, 1]) {
      await context.arm({ kind: "error", code, times: 3, match: { path_prefix: `/${id}/insights` } });
      t.match(await readResults(advertiser, id), empty, `code ${code}`);
      await context.clearFaults();
    }
    await context.arm({ kind: "error", code: 10, times: 1, match: { path_prefix: `/${id}/insights` } });
    t.match(await readResults(advertiser, id), { status: 403 }, "a missing permission is an error");
  });

  t.test("a report of an account that is not active is not read", async (t) => {
    const id = await startReport(advertiser);
    await advertiser.call("PATCH", `/ad-accounts/${advertiser.accountId}`, { status: "disabled" });
    for (const read of [readStatus, readResults])
      t.match(await read(advertiser, id), { status: 409, body: { error: "ad_account_not_active" } });
  });
});
