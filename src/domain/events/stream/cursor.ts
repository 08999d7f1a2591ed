import { timeOfId } from "../../../runtime/ids.ts";
import { includes, type Mark } from "../../../store/events/stream-marks.ts";
import type { StreamRange } from "../../../store/events/stream-pages.ts";

/**
 * How far a reader has read. Without `to` it has every event that was committed at the mark `from`. With `to` it reads those
 * committed between two marks, and has them up to the id `after`.
 */
export interface StreamCursor {
  from: StreamRange["from"];
  to?: Mark | undefined;
  after?: string | undefined;
}

/** A mark in a cursor: time, time back to the floor, end of the snapshot, and how far back each running transaction is. */
type MarkText = [at: number, floorAge: number, end: number, ...running: number[]];

const TRANSACTION_NUMBERS = 2 ** 32;

const writeMark = ({ at, floor, snapshot: { end, running } }: Mark): MarkText => [
  at,
  at - floor,
  end,
  ...running.map((xid) => (end - xid + TRANSACTION_NUMBERS) % TRANSACTION_NUMBERS),
];

const readMark = ([at, floorAge, end, ...running]: MarkText): Mark => ({
  at,
  floor: at - floorAge,
  snapshot: {
    end,
    running: running.map((back) => (end - back + TRANSACTION_NUMBERS) % TRANSACTION_NUMBERS),
  },
});

/** The text of a cursor, before it is signed. */
export function writeCursor({ from, to, after }: StreamCursor): string {
  const start = "since" in from ? from.since : writeMark(from);
  return JSON.stringify(to ? [start, writeMark(to), after ?? ""] : [start]);
}

export function readCursor(text: string): StreamCursor {
  const [start, to, after] = JSON.parse(text) as [number | MarkText, MarkText?, string?];
  const from = typeof start === "number" ? { since: start } : readMark(start);
  return to ? { from, to: readMark(to), after: after || undefined } : { from };
}

/** The time of the oldest event that a reader at the cursor may not have. */
export function oldestUnread({ from, to, after }: StreamCursor): number {
  if (to && after !== undefined) return Math.min(timeOfId(after), to.floor);
  return "since" in from ? from.since : from.floor;
}

/** True when a mark is later than the whole range of a cursor, so that no newer mark is needed to read on. */
export const isRangeBefore = ({ to }: StreamCursor, mark: Mark): boolean =>
  to !== undefined && isBefore(to, mark);

const isBefore = (one: Mark, other: Mark): boolean =>
  one.at <= other.at && includes(other.snapshot, one.snapshot);

/**
 * The range to read next from a cursor; `latest` is the newest mark. A cursor that is newer is from before the clock of Postgres was
 * set back, or the database restored from a backup: its mark means nothing, so all events of its time are read again.
 */
export function nextRange({ from, to, after }: StreamCursor, latest: Mark): StreamRange {
  const start = to ?? from;
  if ("since" in start || isBefore(start, latest)) return { from, to: to ?? latest, after };
  const since = "since" in from ? from.since : from.floor;
  return { from: { since: Math.min(since, latest.floor) }, to: latest };
}
