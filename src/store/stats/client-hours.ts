import { HOUR, MINUTE } from "../../runtime/durations.ts";
import { firstIdAt, timeOfId } from "../../runtime/ids.ts";
import type { StatsSubject } from "./subjects.ts";

/**
 * A settled row that changes within this time after its acceptance is not added to late_changes. Hours are
 * computed again for ROLL_UP_MARGIN_MS after their end, which must be longer: clocks differ, commits take time.
 */
export const RECENT_ROW_MS = 5 * MINUTE;
export const ROLL_UP_MARGIN_MS = 10 * MINUTE;

/** An hour of a client; `start` in milliseconds since 1970. */
export interface ClientHour {
  clientId: string;
  start: number;
}

export const hourOf = (time: number): number => time - (time % HOUR);

/** One id of each hour; ids of the same hour are equivalent in late_changes. */
export function firstIdOfEachHour(ids: readonly string[]): string[] {
  const idsByHour = new Map<number, string>();
  for (const id of ids) {
    const hour = hourOf(timeOfId(id));
    if (!idsByHour.has(hour)) idsByHour.set(hour, id);
  }
  return [...idsByHour.values()];
}

/** The first id of the hour that starts at this time, and that of the next hour. */
export const idRange = ({ prefix }: StatsSubject, start: number): [from: string, to: string] => [
  firstIdAt(prefix, start),
  firstIdAt(prefix, start + HOUR),
];

/** SQL: the hours `h` of hourColumns in $1 to $4; each of `counts` is an array in the next parameter. */
export const hourTable = (counts: readonly string[] = []): string => {
  const arrays = counts.map((_, index) => `$${index + 5}::integer[]`);
  return `unnest(${["$1::uuid[]", "$2::timestamptz[]", "$3::text[]", "$4::text[]", ...arrays].join(", ")})
    as h (${["client_id", "start", "from_id", "to_id", ...counts].join(", ")})`;
};

/** Client ids, starts and the bounds of ids as arrays. */
export function hourColumns(subject: StatsSubject, hours: readonly ClientHour[]) {
  const ranges = hours.map(({ start }) => idRange(subject, start));
  return [
    hours.map(({ clientId }) => clientId),
    hours.map(({ start }) => new Date(start)),
    ranges.map(([from]) => from),
    ranges.map(([, to]) => to),
  ] as const;
}
