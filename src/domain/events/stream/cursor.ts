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

const readMark = ([at, floorAge, end, ...running]: MarkText, generation: string): Mark => ({
  at,
  floor: at - floorAge,
  snapshot: {
    generation,
    end,
    running: running.map((back) => (end - back + TRANSACTION_NUMBERS) % TRANSACTION_NUMBERS),
  },
});

/**
 * The generation is the same for both marks, because ranges do not span generations. It is the last element: an earlier
 * release that runs beside this one reads the others.
 */
type CursorText = [start: number | MarkText, to?: MarkText | null, after?: string, generation?: string];

/** The text of a cursor, before it is signed. */
export function writeCursor({ from, to, after }: StreamCursor): string {
  const last = to ?? from;
  if ("since" in last) return JSON.stringify([last.since] satisfies CursorText);
  const start = "since" in from ? from.since : writeMark(from);
  const { generation } = last.snapshot;
  return JSON.stringify([start, to ? writeMark(to) : null, after ?? "", generation] satisfies CursorText);
}

/** The generation of a cursor that an earlier release made. */
const UNKNOWN_GENERATION = "";

export function readCursor(text: string): StreamCursor {
  const [start, to, after, generation = UNKNOWN_GENERATION] = JSON.parse(text) as CursorText;
  const from = typeof start === "number" ? { since: start } : readMark(start, generation);
  return to ? { from, to: readMark(to, generation), after: after || undefined } : { from };
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
 * The range to read next from a cursor; `latest` is the newest mark. A mark means nothing when it is newer (the clock of Postgres
 * was set back) or when numbers of transactions were lost since: all events that the reader may not have are read again.
 */
export function nextRange(cursor: StreamCursor, latest: Mark): StreamRange {
  const { from, to, after } = cursor;
  const start = to ?? from;
  if ("since" in start || isBefore(start, latest)) return { from, to: to ?? latest, after };
  return { from: { since: Math.min(oldestUnread(cursor), latest.floor) }, to: latest };
}
