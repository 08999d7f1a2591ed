import type { Ground } from "../../context.ts";
import type { Call } from "../../wire/call.ts";
import { checkFields, project } from "../../wire/fields.ts";
import { pageOf } from "../../wire/pages.ts";
import { failsReports, skipsReports } from "../magic.ts";
import { type AdObject, type AdObjects, nameOf } from "../objects/objects.ts";
import type { Values } from "../values.ts";
import { arranged } from "./arrange.ts";
import { type Measured, type Query, readQuery } from "./query.ts";
import { measureOf, rowsOf, showRow } from "./rows.ts";

const MOST_ON_A_PAGE = 500;

/** How a report goes on, by milliseconds. It has all its percent before it is complete: only both together say so. */
const COURSE: readonly [number, string, number][] = [
  [300, "Job Started", 0],
  [900, "Job Running", 40],
  [1_800, "Job Running", 100],
];
const END = 2_500;

const FAILURE = {
  error_code: 100,
  error_subcode: 1487534,
  error_message: "Invalid parameter",
  error_user_title: "Too Much Data",
  error_user_msg: "Reduce the amount of data you ask for.",
};

export interface Insights {
  /** The rows at once. */
  ask(measured: Measured, call: Call): unknown;
  /** The rows later: starts a report. */
  order(measured: Measured, call: Call): unknown;
  showReport(report: AdObject, call: Call): unknown;
  /** The rows of a report; none before it is complete. */
  collect(report: AdObject, call: Call): unknown;
}

export function createInsights(ground: Ground, objects: AdObjects): Insights {
  const queries = new Map<string, Query>();
  const page = (call: Call, query: Query, way: "call" | "report") =>
    pageOf(call, arrangedRows(query, objects, way), (row) => showRow(query, row), { most: MOST_ON_A_PAGE });
  return {
    ask: (measured, call) => page(call, readQuery(measured, call, objects), "call"),
    order(measured, call) {
      const query = readQuery(measured, call, objects);
      rowsOf(query, objects, "report");
      const report = objects.add("report", measured.account, firstValues(query));
      queries.set(report.id, query);
      const { object, account } = measured;
      run(ground, report, endOf(object ? nameOf(object) : account.name));
      return { report_run_id: report.id };
    },
    showReport: ({ id, account, values }, { params }) => {
      const fields = params.words("fields");
      checkFields(fields, "AdReportRun", SHOWN);
      return project({ id, account_id: account.id, ...values }, fields, SHOWN);
    },
    collect(report, call) {
      const query = queries.get(report.id);
      if (!query || report.values.async_status !== "Job Completed") return { data: [] };
      return page(call, query, "report");
    },
  };
}

const arrangedRows = (query: Query, objects: AdObjects, way: "call" | "report") =>
  arranged(rowsOf(query, objects, way), query.arrangement, (row) => measureOf(query, row));

const SHOWN = [
  "account_id",
  "async_status",
  "async_percent_completion",
  "time_ref",
  "date_start",
  "date_stop",
  ...Object.keys(FAILURE),
];

const firstValues = ({ periods }: Query): Values => ({
  async_status: "Job Not Started",
  async_percent_completion: 0,
  time_ref: Math.floor(Date.now() / 1000),
  date_start: periods[0]?.since,
  date_stop: periods.at(-1)?.until,
});

function endOf(name: string): Values {
  if (failsReports(name)) return { async_status: "Job Failed", ...FAILURE };
  return { async_status: skipsReports(name) ? "Job Skipped" : "Job Completed" };
}

function run({ later }: Ground, { values }: AdObject, end: Values): void {
  for (const [after, async_status, async_percent_completion] of COURSE)
    later(after, () => Object.assign(values, { async_status, async_percent_completion }));
  later(END, () => Object.assign(values, end));
}
