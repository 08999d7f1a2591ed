import type { SandboxContext } from "../../context.ts";
import type { Call } from "../../wire/call.ts";
import { checkFields, project } from "../../wire/fields.ts";
import { toListPage } from "../../wire/list-page.ts";
import { failsReports, skipsReports } from "../magic-values.ts";
import { type AdObject, type AdObjects, nameOf } from "../objects/objects.ts";
import type { Values } from "../values.ts";
import { arrangeRows } from "./arrange.ts";
import { type InsightsTarget, type Query, readQuery } from "./query.ts";
import { measureOf, type Row, rowsOf, showRow } from "./rows.ts";

const MAX_ROWS_PER_PAGE = 500;

/** Progress, each step after this many milliseconds. It reaches 100 % before completion: callers must check the status. */
const REPORT_STEPS: readonly [number, Values][] = [
  [300, { async_status: "Job Started", async_percent_completion: 0 }],
  [600, { async_status: "Job Running", async_percent_completion: 40 }],
  [900, { async_status: "Job Running", async_percent_completion: 100 }],
];
const LAST_STEP_MS = 700;

const FAILURE = {
  error_code: 100,
  error_subcode: 1487534,
  error_message: "Invalid parameter",
  error_user_title: "Too Much Data",
  error_user_msg: "Reduce the amount of data you request.",
};

export interface Insights {
  /** Returns the rows immediately. */
  readRows(target: InsightsTarget, call: Call): unknown;
  /** Starts a report, whose rows are read later. */
  startReport(target: InsightsTarget, call: Call): unknown;
  showReport(report: AdObject, call: Call): unknown;
  /** Returns the rows of a report; none before it is complete. */
  readReport(report: AdObject, call: Call): unknown;
}

export function createInsights(context: SandboxContext, objects: AdObjects): Insights {
  const queries = new Map<string, Query>();
  /** The rows of the report that was read last: reading a large one page by page would compute them for each page. */
  let last: { query: Query; rows: readonly Row[] } | undefined;
  const reportRows = (query: Query) => {
    if (last?.query !== query) last = { query, rows: arrangedRows(query, objects, "report") };
    return last.rows;
  };
  const toPage = (call: Call, query: Query, rows: readonly Row[]) =>
    toListPage(call, rows, (row) => showRow(query, row), { maxLimit: MAX_ROWS_PER_PAGE });
  return {
    readRows(target, call) {
      const query = readQuery(target, call, objects);
      return toPage(call, query, arrangedRows(query, objects, "call"));
    },
    startReport(target, call) {
      const query = readQuery(target, call, objects);
      rowsOf(query, objects, "report");
      const report = objects.add("report", target.account, initialValuesOf(query));
      queries.set(report.id, query);
      const { object, account } = target;
      scheduleReport(context, report, finalValuesOf(object ? nameOf(object) : account.name));
      return { report_run_id: report.id };
    },
    showReport: ({ id, account, values }, { params }) => {
      const fields = params.words("fields");
      checkFields(fields, "AdReportRun", REPORT_FIELDS);
      return project({ id, account_id: account.id, ...values }, fields, REPORT_FIELDS);
    },
    readReport(report, call) {
      const query = queries.get(report.id);
      if (!query || report.values.async_status !== "Job Completed") return { data: [] };
      return toPage(call, query, reportRows(query));
    },
  };
}

const arrangedRows = (query: Query, objects: AdObjects, mode: "call" | "report") =>
  arrangeRows(rowsOf(query, objects, mode), query.arrangement, (row) => measureOf(query, row));

const REPORT_FIELDS = [
  "account_id",
  "async_status",
  "async_percent_completion",
  "time_ref",
  "date_start",
  "date_stop",
  ...Object.keys(FAILURE),
];

const initialValuesOf = ({ periods }: Query): Values => ({
  async_status: "Job Not Started",
  async_percent_completion: 0,
  time_ref: Math.floor(Date.now() / 1000),
  date_start: periods[0]?.since,
  date_stop: periods.at(-1)?.until,
});

function finalValuesOf(name: string): Values {
  if (failsReports(name)) return { async_status: "Job Failed", ...FAILURE };
  return { async_status: skipsReports(name) ? "Job Skipped" : "Job Completed" };
}

/** Each step schedules the next: timers of a busy process may fire in another order than they are due. */
function scheduleReport({ schedule }: SandboxContext, { values }: AdObject, finalValues: Values): void {
  const run = ([step, ...rest]: readonly [number, Values][]): void => {
    if (!step) return;
    const [delayMs, newValues] = step;
    schedule(delayMs, () => {
      Object.assign(values, newValues);
      run(rest);
    });
  };
  run([...REPORT_STEPS, [LAST_STEP_MS, finalValues]]);
}
