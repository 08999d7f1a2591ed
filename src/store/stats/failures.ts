import { type Database, type Queryable, type Statement, sql } from "../database/database.ts";
import { isStatementTimeout } from "../database/faults.ts";

/** When failures ended; both bounds are inclusive. */
export interface FailurePeriod {
  since: Date;
  until?: Date | undefined;
}

/** Failures of a client that are alike. */
interface Failures {
  count: number;
  first_at: Date;
  last_at: Date;
  /** Id of the newest message or event. */
  sample_id: string;
}

export interface MessageFailures extends Failures {
  channel_id: string;
  error_code: string | null;
}

export interface DeliveryFailures extends Failures {
  key: string | null;
  url: string | null;
  last_status_code: number | null;
  last_error: string | null;
}

/** More groups than a backend and its channels cause; the largest are read. */
const MAX_READ_GROUPS = 5_000;

interface FailureTable {
  table: string;
  condition: string;
  groupBy: string;
}

/** Its columns are those of the index on the failures of a client, so that Postgres need not read the rows. */
const groupStatement = ({ table, condition, groupBy }: FailureTable): Statement =>
  sql(`
  select
    ${groupBy},
    count(*)::integer as count,
    min(failed_at) as first_at,
    max(failed_at) as last_at,
    max(id) as sample_id
  from ${table}
  where client_id = $1
  and ${condition}
  and failed_at >= $2
  and failed_at < $3
  group by ${groupBy}
  order by count desc, last_at desc, sample_id desc
  limit ${MAX_READ_GROUPS}`);

export const GROUP_FAILURES = {
  messages: groupStatement({
    table: "messages",
    condition: "status = 'failed'",
    groupBy: "channel_id, error_code",
  }),
  deliveries: groupStatement({
    table: "deliveries",
    condition: "state = 'failed'",
    groupBy: "key, url, last_status_code, last_error",
  }),
} as const;

/** Below the time that a request waits for Postgres. */
const TIMEOUT_MS = 4_000;

/**
 * Without statistics of a new partition, Postgres would read all its rows, or sort the failures on disk instead of counting
 * them in memory.
 */
export const FAILURE_SETTINGS = `set local statement_timeout = ${TIMEOUT_MS}; set local jit = off; set local enable_seqscan = off; set local enable_bitmapscan = off; set local enable_sort = off`;

/** Clients see milliseconds, and Postgres stores microseconds: `until` includes its whole millisecond. */
const endOf = ({ until }: FailurePeriod) => (until ? new Date(until.getTime() + 1) : "infinity");

interface FailureGroups {
  messages: MessageFailures[];
  deliveries: DeliveryFailures[];
}

/** Groups the failures that ended in the period, for the wanted kinds; undefined when Postgres needs too long. */
export async function groupFailures(
  db: Database,
  clientId: string,
  { period, kinds }: { period: FailurePeriod; kinds: readonly (keyof FailureGroups)[] },
): Promise<FailureGroups | undefined> {
  const values = [clientId, period.since, endOf(period)];
  const read = <Row extends object>(tx: Queryable, kind: keyof FailureGroups) =>
    kinds.includes(kind) ? tx.query<Row>(GROUP_FAILURES[kind], values) : [];
  try {
    return await db.transaction(async (tx) => {
      await tx.query(FAILURE_SETTINGS);
      return {
        messages: await read<MessageFailures>(tx, "messages"),
        deliveries: await read<DeliveryFailures>(tx, "deliveries"),
      };
    });
  } catch (error) {
    if (isStatementTimeout(error)) return undefined;
    throw error;
  }
}
