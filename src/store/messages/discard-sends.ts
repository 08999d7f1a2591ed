import { type Queryable, sql } from "../database/database.ts";
import { isLeaseExpired, LEASE_LIMITS } from "../processes/workers.ts";
import { failStatement } from "./expire-sends.ts";
import { TO_BE_SENT_STATES, UNLEASED_STATES } from "./lifecycle.ts";
import type { SettledSend } from "./settled-sends.ts";

/** Selects queued messages of a client: those with an id below `before`. */
export interface DiscardScope {
  clientId: string;
  before: string;
}

const IS_IN_SCOPE = "s.client_id = $3 and s.id < $4";

/** SQL: true for a send that no living dispatcher has claimed and whose request was not written. */
const IS_DISCARDABLE = `(
      s.state in ${UNLEASED_STATES}
      or s.state = 'claimed' and s.sending_at is null and ${isLeaseExpired("s")}
    )`;

const DISCARD = sql(failStatement(`${IS_IN_SCOPE} and ${IS_DISCARDABLE}`, "$5"));

const COUNT = sql(`
  select count(*)::integer as total, (count(*) filter (where ${IS_DISCARDABLE}))::integer as discardable
  from sends s
  where ${IS_IN_SCOPE}
  and s.state in ${TO_BE_SENT_STATES}`);

const valuesOf = ({ clientId, before }: DiscardScope) => [
  LEASE_LIMITS.deadAfter,
  LEASE_LIMITS.maxLeaseMs,
  clientId,
  before,
];

/** Fails a batch of queued messages with this error; returns them. */
export const discardSends = (tx: Queryable, scope: DiscardScope, error: string): Promise<SettledSend[]> =>
  tx.query<SettledSend>(DISCARD, [...valuesOf(scope), error]);

interface DiscardCounts {
  /** Messages that are still to be sent. */
  total: number;
  /** Of these, the ones that no dispatcher is sending. */
  discardable: number;
}

export async function countDiscardableSends(db: Queryable, scope: DiscardScope): Promise<DiscardCounts> {
  const [row] = await db.query<DiscardCounts>(COUNT, valuesOf(scope));
  return row as DiscardCounts;
}
