import { own } from "../../own-property.ts";
import { GraphError, invalidParameter } from "../../wire/graph-error.ts";
import type { Params } from "../../wire/params.ts";
import { type Day, firstOfMonth, isDay, plusDays, type Range } from "./days.ts";
import { DATE_PRESETS, oldestDay } from "./presets.ts";

const MOST_DAYS = 90;

/** The periods that rows are asked for: one for each range, or as many as the increment makes of it. */
export function readPeriods(params: Params, today: Day): Range[] {
  const ranges = params.list("time_ranges")?.map((range) => readRange(range, today));
  if (ranges && ranges.length > 0) return ranges;
  return split(oneRange(params, today), params.text("time_increment") ?? "all_days", today);
}

function oneRange(params: Params, today: Day): Range {
  const range = params.object("time_range");
  if (range) return readRange(range, today);
  const preset = params.text("date_preset") ?? "last_30d";
  const named = own(DATE_PRESETS, preset);
  if (!named)
    throw invalidParameter(
      `Param date_preset must be one of {${Object.keys(DATE_PRESETS).join(", ")}} - got "${preset}"`,
    );
  return named(today);
}

function readRange(range: unknown, today: Day): Range {
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

function split(range: Range, increment: string, today: Day): Range[] {
  if (increment === "all_days") return [range];
  const cut = (next: (since: Day) => Day) => cutUpTo(today, range, next);
  if (increment === "monthly") return cut((since) => firstOfMonth(since, 1));
  const days = /^\d{1,2}$/.test(increment) ? Number(increment) : 0;
  if (days < 1 || days > MOST_DAYS)
    throw invalidParameter(`Param time_increment must be 1 to ${MOST_DAYS}, monthly or all_days`);
  return cut((since) => plusDays(since, days));
}

/** What begins after today has no rows; a range may end in the year 9999, and cutting all of it would never come to an end. */
function cutUpTo(today: Day, range: Range, next: (since: Day) => Day): Range[] {
  const { since, until } = range;
  if (since > today) return [range];
  const periods: Range[] = [];
  for (let start = since; start <= until && start <= today; start = next(start)) {
    const end = plusDays(next(start), -1);
    periods.push({ since: start, until: end < until ? end : until });
  }
  return periods;
}
