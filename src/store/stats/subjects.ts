import type { IdPrefix } from "../../runtime/ids.ts";
import { EVENT_STATUS } from "../events/events.ts";
import { KEY_GROUPS, KEY_OF_GROUP, lookUpKey } from "../events/waiting-deliveries.ts";

/** What statistics count, from which rows, and in which table the figures are stored. */
export interface StatsSubject {
  name: "messages" | "events";
  /** Prefix of the ids of the counted rows. */
  prefix: IdPrefix;
  table: "message_stats" | "event_stats";
  /** The column that divides an hour's figures. */
  dimension: "channel_id" | "key";
  /** The counted rows and their alias. */
  source: { table: string; alias: string };
  /** SQL: columns that group the counted rows, the dimension of a group `g`, and the join that it needs. */
  groups: string;
  dimensionOf: string;
  lookup: string;
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
  groups: "m.channel_id, null",
  dimensionOf: "g.channel_id",
  lookup: "",
  outcomes: {
    sent: "m.status in ('accepted', 'sent', 'delivered', 'read')",
    failed: "m.status = 'failed'",
    unknown: "m.status = 'unknown'",
    waiting: "m.status = 'queued'",
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
  groups: KEY_GROUPS,
  dimensionOf: `coalesce(${KEY_OF_GROUP}, '')`,
  lookup: lookUpKey("h.client_id"),
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
