import { type DayRange, todayIn } from "../../../runtime/days.ts";
import type { AdAccount } from "../../built-in-assets.ts";
import type { SandboxContext } from "../../context.ts";
import { checkFields, project, toListPage } from "../../graph/fields-and-lists.ts";
import { GraphError, invalidParameter } from "../../graph/graph-error.ts";
import type { Call } from "../../graph/node.ts";
import { failsReports, isUndelivered, skipsReports } from "../../magic-values.ts";
import { type AdObject, type AdObjects, LEVELS, type Level, nameOf } from "../objects.ts";
import { combineFilters, readConditions } from "../read-and-filter.ts";
import { refuse } from "../refusals.ts";
import { formatTimeIn, type Values } from "../values.ts";
import { type Cell, checkActionBreakdowns, MAX_REPORT_ROWS, readCells } from "./breakdowns.ts";
import {
  type Arrangement,
  arrangeRows,
  isMetric,
  METRICS,
  type Measure,
  readOrder,
  shareOf,
  totalsInRange,
} from "./metrics.ts";
import { FIELDS_WITHOUT_VALUES } from "./names.ts";
import { readPeriods } from "./periods.ts";

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

interface Insights {
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

/** The target of insights: an account, or one object in it. */
export interface InsightsTarget {
  account: AdAccount;
  object?: AdObject;
}

/** The parsed parameters of an insights call. */
interface Query extends InsightsTarget {
  level: "account" | Level;
  fields: readonly string[];
  periods: readonly DayRange[];
  cells: readonly Cell[];
  breakdownCount: number;
  windows: readonly string[];
  passes: (object: AdObject) => boolean;
  arrangement: Arrangement;
}

const ALL_LEVELS = ["account", ...LEVELS] as const;
const DATE_FIELDS = ["date_start", "date_stop"];
const DEFAULT_FIELDS = ["account_id", "impressions", "spend"];

function readQuery({ account, object }: InsightsTarget, call: Call, objects: AdObjects): Query {
  const { params } = call;
  const breakdowns = params.words("breakdowns") ?? [];
  checkActionBreakdowns(params.words("action_breakdowns") ?? []);
  const conditions = readConditions(call);
  return {
    account,
    ...(object ? { object } : {}),
    level: readLevel(params.text("level"), (object?.kind as Level | undefined) ?? "account"),
    fields: readFields(params.words("fields")),
    periods: readPeriods(params, todayIn(account.timezone_name)),
    cells: readCells(breakdowns),
    breakdownCount: breakdowns.length,
    windows: params.words("action_attribution_windows") ?? [],
    passes: combineFilters(
      conditions.filter(({ field }) => !isMetric(field)),
      objects,
    ),
    arrangement: {
      conditions: conditions.filter(({ field }) => isMetric(field)),
      order: (params.list("sort") ?? []).map(readOrder),
    },
  };
}

function readLevel(text: string | undefined, ownLevel: Query["level"]): Query["level"] {
  const level = text === undefined ? ownLevel : ALL_LEVELS.find((word) => word === text);
  if (!level) throw invalidParameter(`Param level must be one of {${ALL_LEVELS.join(", ")}}`);
  if (ALL_LEVELS.indexOf(level) < ALL_LEVELS.indexOf(ownLevel))
    throw new GraphError(1, "An unknown error occurred", { subcode: 99 });
  return level;
}

function readFields(words: readonly string[] | undefined): readonly string[] {
  const fields = (words ?? []).filter((word) => word !== "");
  const unknownField = fields.find((field) => !KNOWN_FIELDS.has(field));
  if (unknownField) throw invalidParameter(`${unknownField} is not valid for fields param.`);
  return fields.length === 0 ? DEFAULT_FIELDS : fields;
}

/** A row without its metrics, which are computed only for the requested page. */
interface Row {
  subject: Subject;
  period: DayRange;
  cell: Cell;
  part: number;
}

/** Limits of an immediate call and of a report. */
const QUERY_LIMITS = {
  call: { maxRows: 5_000, maxBreakdowns: 3 },
  report: { maxRows: MAX_REPORT_ROWS, maxBreakdowns: 8 },
};

function rowsOf(query: Query, objects: AdObjects, mode: keyof typeof QUERY_LIMITS): Row[] {
  const subjects = subjectsOf(query, objects);
  const today = todayIn(query.account.timezone_name);
  const periods = query.periods.filter(({ since }) => since <= today);
  const { maxRows, maxBreakdowns } = QUERY_LIMITS[mode];
  if (query.breakdownCount > maxBreakdowns || subjects.length * periods.length * query.cells.length > maxRows)
    throw refuse("tooMuchData");
  return subjects.flatMap((subject) =>
    periods.flatMap((period) => query.cells.map((cell, part) => ({ subject, period, cell, part }))),
  );
}

function subjectsOf({ account, object, level, passes }: Query, objects: AdObjects): Subject[] {
  if (level === "account") return [accountSubject(account)];
  const found = object ? objects.listWithin(object, level) : objects.list(account, level);
  return found
    .filter(passes)
    .map((one) => objectSubject(objects, one))
    .filter(({ lineage }) => !lineage.some((one) => isUndelivered(nameOf(one))));
}

/** Computes the metrics of a row. Days after today count as zero. */
function measureOf({ cells, windows }: Query, { subject, period, part }: Row): Measure {
  const { currency, timezone_name } = subject.account;
  const today = todayIn(timezone_name);
  const until = period.until < today ? period.until : today;
  const whole = totalsInRange(subject.id, { since: period.since, until });
  return { ...shareOf(whole, part, cells.length), currency, windows };
}

function showRow(query: Query, row: Row): unknown {
  const { subject, period, cell } = row;
  const measure = measureOf(query, row);
  const shown = query.fields.map((field) => [
    field,
    SUBJECT_FIELDS[field]?.(subject) ?? METRICS[field]?.(measure),
  ]);
  return {
    ...Object.fromEntries(shown.filter(([, value]) => value !== undefined)),
    date_start: period.since,
    date_stop: period.until,
    ...cell,
  };
}

/** The subject of a row: the account, or an object with its ancestors. */
interface Subject {
  id: string;
  account: AdAccount;
  lineage: readonly AdObject[];
}

const accountSubject = (account: AdAccount): Subject => ({ id: account.id, account, lineage: [] });

const objectSubject = (objects: AdObjects, object: AdObject): Subject => ({
  id: object.id,
  account: object.account,
  lineage: objects.lineage(object),
});

const fieldAtLevel =
  (level: Level, show: (object: AdObject) => unknown) =>
  ({ lineage }: Subject) => {
    const object = lineage.find(({ kind }) => kind === level);
    return object && show(object);
  };

const idOf = ({ id }: AdObject) => id;

/** The day of a time of the row's own object, in the account's time zone. */
const dayField =
  (timeOf: (object: AdObject) => Date) =>
  ({ account, lineage: [object] }: Subject) =>
    object && formatTimeIn(account.timezone_name, timeOf(object)).slice(0, 10);

/** Fields of a row's subject. A field of a lower level than the row's is undefined. */
const SUBJECT_FIELDS: Readonly<Record<string, (subject: Subject) => unknown>> = {
  account_id: ({ account }) => account.id,
  account_name: ({ account }) => account.name,
  account_currency: ({ account }) => account.currency,
  campaign_id: fieldAtLevel("campaign", idOf),
  campaign_name: fieldAtLevel("campaign", nameOf),
  objective: fieldAtLevel("campaign", ({ values }) => values.objective),
  buying_type: fieldAtLevel("campaign", ({ values }) => values.buying_type),
  adset_id: fieldAtLevel("adset", idOf),
  adset_name: fieldAtLevel("adset", nameOf),
  optimization_goal: fieldAtLevel("adset", ({ values }) => values.optimization_goal),
  ad_id: fieldAtLevel("ad", idOf),
  ad_name: fieldAtLevel("ad", nameOf),
  created_time: dayField(({ created }) => created),
  updated_time: dayField(({ updated }) => updated),
};

const KNOWN_FIELDS: ReadonlySet<string> = new Set([
  ...Object.keys(METRICS),
  ...Object.keys(SUBJECT_FIELDS),
  ...DATE_FIELDS,
  ...FIELDS_WITHOUT_VALUES,
]);
