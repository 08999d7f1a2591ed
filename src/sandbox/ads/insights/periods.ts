import { type Day, type DayRange, firstOfMonth, isDay, plusDays } from "../../../runtime/days.ts";
import { ownProperty } from "../../own-property.ts";
import { GraphError, invalidParameter } from "../../wire/graph-error.ts";
import type { Params } from "../../wire/params.ts";
import { DATE_PRESETS, oldestDay } from "./presets.ts";

const MAX_INCREMENT_DAYS = 90;

/** Returns the requested periods: one per range, or the parts of one range by `time_increment`. */
export function readPeriods(params: Params, today: Day): DayRange[] {
  const ranges = params.list("time_ranges")?.map((range) => readRange(range, today));
  if (ranges && ranges.length > 0) return ranges;
  return splitRange(readSingleRange(params, today), params.text("time_increment") ?? "all_days", today);
}

function readSingleRange(params: Params, today: Day): DayRange {
  const range = params.object("time_range");
  if (range) return readRange(range, today);
  const preset = params.text("date_preset") ?? "last_30d";
  const toRange = ownProperty(DATE_PRESETS, preset);
  if (!toRange)
    throw invalidParameter(
      `Param date_preset must be one of {${Object.keys(DATE_PRESETS).join(", ")}} - got "${preset}"`,
    );
  return toRange(today);
}

function readRange(range: unknown, today: Day): DayRange {
  const { since, until } = (range ?? {}) as Record<string, unknown>;
  if (!isDay(since) || !isDay(until))
    throw invalidParameter("Param time_range must have since and until as YYYY-MM-DD");
  if (since > until) throw invalidParameter("Param time_range: since must not be after until");
  if (since < oldestDay(today))
    throw new GraphError(
      3018,
      "(#3018) The start date of the time range cannot be beyond 37 months from the current date",
    );
  return { since, until };
}

function splitRange(range: DayRange, increment: string, today: Day): DayRange[] {
  if (increment === "all_days") return [range];
  const splitBy = (next: (since: Day) => Day) => splitUntilToday(today, range, next);
  if (increment === "monthly") return splitBy((since) => firstOfMonth(since, 1));
  const days = /^\d{1,2}$/.test(increment) ? Number(increment) : 0;
  if (days < 1 || days > MAX_INCREMENT_DAYS)
    throw invalidParameter(`Param time_increment must be 1 to ${MAX_INCREMENT_DAYS}, monthly or all_days`);
  return splitBy((since) => plusDays(since, days));
}

/** Splits only up to today: later periods have no rows, and a range may end in the year 9999. */
function splitUntilToday(today: Day, range: DayRange, next: (since: Day) => Day): DayRange[] {
  const { since, until } = range;
  if (since > today) return [range];
  const periods: DayRange[] = [];
  for (let start = since; start <= until && start <= today; start = next(start)) {
    const end = plusDays(next(start), -1);
    periods.push({ since: start, until: end < until ? end : until });
  }
  return periods;
}
