import { HOUR } from "../../runtime/durations.ts";
import { firstIdAt, type IdPrefix } from "../../runtime/ids.ts";
import { EVENT_STATUS } from "../events/events.ts";

/** A subject of statistics: the counted rows, and the table of the figures. */
export interface StatsSubject {
  name: "messages" | "events";
  /** Prefix of the ids of the counted rows. */
  prefix: IdPrefix;
  table: "message_stats" | "event_stats";
  /** The column that divides an hour's figures. */
  dimension: "channel_id" | "key";
  /** The counted rows and their alias. */
  source: { table: string; alias: string };
  /** SQL: the dimension of a counted row. */
  dimensionOf: string;
  /** Every row matches exactly one SQL condition, so the counts add up to `accepted`. */
  outcomes: Readonly<Record<string, string>>;
  /** Outcomes that change without a row in late_changes. */
  openOutcomes: readonly string[];
}

const MESSAGES: StatsSubject = {
  name: "messages",
  prefix: "msg",
  table: "message_stats",
  dimension: "channel_id",
  source: { table: "messages", alias: "m" },
  dimensionOf: "m.channel_id",
  outcomes: {
    sent: "m.status in ('accepted', 'sent', 'delivered', 'read')",
    failed: "m.status = 'failed'",
    unknown: "m.status = 'unknown'",
    cancelled: "m.status = 'cancelled'",
    waiting: "m.status in ('scheduled', 'queued')",
  },
  openOutcomes: ["waiting", "unknown"],
};

const isEventStatus = (status: string) => `(${EVENT_STATUS}) = '${status}'`;

const EVENTS: StatsSubject = {
  name: "events",
  prefix: "evt",
  table: "event_stats",
  dimension: "key",
  source: { table: "deliveries", alias: "d" },
  dimensionOf: "coalesce(d.key, '')",
  outcomes: {
    delivered: isEventStatus("delivered"),
    failed: isEventStatus("failed"),
    skipped: isEventStatus("skipped"),
    waiting: isEventStatus("pending"),
  },
  openOutcomes: ["waiting"],
};

export const STATS_SUBJECTS = { messages: MESSAGES, events: EVENTS } as const;

/** The names of the figures, the sum of the others first. */
export const countNames = ({ outcomes }: StatsSubject): string[] => ["accepted", ...Object.keys(outcomes)];

/** SQL: true for a counted row of the client and hour `hour`, a row with client_id, from_id and to_id. */
export const isOfHour = ({ source: { alias } }: StatsSubject, hour: string): string =>
  `${alias}.client_id = ${hour}.client_id and ${alias}.id >= ${hour}.from_id and ${alias}.id < ${hour}.to_id`;

/** An hour of a client; `start` in milliseconds since 1970. */
export interface ClientHour {
  clientId: string;
  start: number;
}

export const hourOf = (time: number): number => time - (time % HOUR);

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
