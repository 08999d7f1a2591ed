import t from "tap";
import type { AdObjectParts } from "../../../src/domain/ads/ad-objects.ts";
import { createReportReader, type ReportRef } from "../../../src/domain/ads/insights-reports.ts";
import type { ReportRun } from "../../../src/platforms/ads/insights.ts";
import { PlatformFailure } from "../../../src/platforms/errors/failure.ts";
import { findReport, insertReport } from "../../../src/store/ads/insights-reports.ts";
import type { Database } from "../../../src/store/database/database.ts";
import { captureLog } from "../../fixtures/captured-log.ts";
import { insertClientWithLastByte, openQueueContext } from "../../fixtures/events/queue-rows.ts";
import { until } from "../../fixtures/until.ts";

/** Another process may read a status this long after a read of it began. */
const CLAIM_TTL_MS = 5_000;

const RUN: ReportRun = {
  report_run_id: "77",
  async_status: "Job Running",
  async_percent_completion: 10,
};

const FAILURE = new PlatformFailure("invalid", "Invalid parameter");

async function insertRun(db: Database): Promise<ReportRef> {
  const clientId = await insertClientWithLastByte(db, 1);
  const report = { id: RUN.report_run_id, adAccountId: "act_1", fields: [], breakdowns: [], run: RUN };
  await insertReport(db, clientId, report);
  const row = { client_id: clientId, ad_account_id: "act_1" };
  const account = { row, access: {} } as ReportRef["account"];
  return { db, account, id: report.id, report: await findReport(db, report.id) };
}

/** A platform whose first read fails when the test says so, and readers like those of several processes. */
function createPlatform() {
  const state: { reads: number; failFirst?: () => void } = { reads: 0 };
  const readReport = () => {
    state.reads += 1;
    if (state.reads > 1) return Promise.resolve(RUN);
    return new Promise<ReportRun>((_, reject) => {
      state.failFirst = () => reject(FAILURE);
    });
  };
  const platforms = { ads: { insights: { readReport } } } as unknown as AdObjectParts["platforms"];
  const createReader = () => createReportReader({ platforms, log: captureLog().log });
  const firstRead = () => until("the platform is called", () => state.failFirst);
  return { state, createReader, firstRead };
}

t.test("a failed read of a status", async (t) => {
  const { db } = await openQueueContext(t);

  t.test("fails for all who wait in its process, and the next caller reads at once", async (t) => {
    const ref = await insertRun(db);
    const { state, createReader, firstRead } = createPlatform();
    const reader = createReader();
    const waiting = Promise.allSettled(Array.from({ length: 5 }, () => reader.readStatus(ref)));
    (await firstRead())();
    for (const result of await waiting) t.match(result, { status: "rejected", reason: FAILURE });
    t.equal(state.reads, 1);
    const startedAt = Date.now();
    t.same(await reader.readStatus(ref), RUN);
    t.ok(Date.now() - startedAt < CLAIM_TTL_MS, "it does not wait until the claim has expired");
    t.same(await reader.readStatus(ref), RUN);
    t.equal(state.reads, 2, "the status is stored");
  });

  t.test("is repeated by another process that waits for it", async (t) => {
    const ref = await insertRun(db);
    const { state, createReader, firstRead } = createPlatform();
    const startedAt = Date.now();
    const failed = t.rejects(createReader().readStatus(ref), FAILURE);
    const fail = await firstRead();
    const other = createReader();
    const waiting = Promise.all([other.readStatus(ref), other.readStatus(ref)]);
    fail();
    await failed;
    t.same(await waiting, [RUN, RUN]);
    t.ok(Date.now() - startedAt < CLAIM_TTL_MS);
    t.equal(state.reads, 2);
  });
});
