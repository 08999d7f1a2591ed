import { type DayRange, todayIn } from "../../../runtime/days.ts";
import { isUndelivered } from "../magic-values.ts";
import { type AdObjects, nameOf } from "../objects/objects.ts";
import { refuse } from "../refusals.ts";
import { type Cell, MAX_REPORT_ROWS } from "./breakdowns.ts";
import { METRICS, type Measure } from "./metrics.ts";
import type { Query } from "./query.ts";
import { accountSubject, objectSubject, SUBJECT_FIELDS, type Subject } from "./subject.ts";
import { shareOf, totalsInRange } from "./totals.ts";

/** A row without its metrics, which are computed only for the requested page. */
export interface Row {
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

export function rowsOf(query: Query, objects: AdObjects, mode: keyof typeof QUERY_LIMITS): Row[] {
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
export function measureOf({ cells, windows }: Query, { subject, period, part }: Row): Measure {
  const { currency, timezone_name } = subject.account;
  const today = todayIn(timezone_name);
  const until = period.until < today ? period.until : today;
  const whole = totalsInRange(subject.id, { since: period.since, until });
  return { ...shareOf(whole, part, cells.length), currency, windows };
}

export function showRow(query: Query, row: Row): unknown {
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
