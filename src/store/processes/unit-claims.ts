import { type Queryable, sql } from "../database/database.ts";
import type { Claimant } from "./cron-runs.ts";
import { IS_NOT_QUARANTINED, IS_QUARANTINED } from "./deaths.ts";
import { isLeaseOfDeadWorker } from "./workers.ts";

/**
 * Everything here spans all clients: the units of work of cron jobs, rows with id, client_id, worker_id and
 * deaths. A unit is free or claimed: `claim` names its scheduler, the job's statement that records a completed
 * unit frees it with SET_UNIT_DONE, `release` frees one that was not completed, `countDeaths` those of the dead.
 */
type UnitTable = "ad_connections" | "insights_reports";

/** SQL: frees a unit whose processing has ended, so that it did not kill its scheduler. */
export const SET_UNIT_DONE = "worker_id = null, deaths = 0";

/**
 * A claim time is not needed, because only one scheduler at a time runs a job. The claimant's own units are
 * freed without a death: it begins a run, so it is not processing any.
 */
const countDeathsStatement = (table: UnitTable) => `
  with lost as materialized (
    select u.id, u.worker_id <> $1 as is_dead
    from ${table} u
    where u.worker_id = $1
    or u.worker_id is not null
    and ${isLeaseOfDeadWorker({ worker: "u.worker_id", claimedAt: "'-infinity'", deadAfter: "$2" })}
    for update of u
  )
  update ${table} u
  set worker_id = null, deaths = u.deaths + l.is_dead::integer
  from lost l
  where u.id = l.id
  returning u.client_id as "clientId", u.id, u.deaths, l.is_dead and u.${IS_QUARANTINED} as "isQuarantined"`;

const claimStatement = (table: UnitTable) => `
  update ${table}
  set worker_id = $2
  where id = any($1)
  and ${IS_NOT_QUARANTINED}
  returning id`;

const releaseStatement = (table: UnitTable) => `
  update ${table}
  set worker_id = null
  where id = any($1)
  and worker_id = $2`;

const countStatement = (table: UnitTable) => `
  select count(*)::integer as count
  from ${table}
  where ${IS_QUARANTINED}`;

/** A unit that is no longer processed because its schedulers died. */
export interface QuarantinedUnit {
  clientId: string;
  id: string;
  deaths: number;
}

export type UnitClaims = ReturnType<typeof unitClaims>;

/** The claims of the units in this table. */
export function unitClaims(table: UnitTable) {
  const [COUNT_DEATHS, COUNT_QUARANTINED] = [sql(countDeathsStatement(table)), sql(countStatement(table))];
  const [CLAIM, RELEASE] = [sql(claimStatement(table)), sql(releaseStatement(table))];
  return {
    /** Called when a run begins. Returns the units that the death of their scheduler has quarantined. */
    async countDeaths(db: Queryable, { worker, deadAfter }: Claimant): Promise<QuarantinedUnit[]> {
      type Row = QuarantinedUnit & { isQuarantined: boolean };
      const rows = await db.query<Row>(COUNT_DEATHS, [worker, deadAfter]);
      return rows
        .filter(({ isQuarantined }) => isQuarantined)
        .map(({ clientId, id, deaths }) => ({ clientId, id, deaths }));
    },
    /** Returns the ids of the claimed units: others are gone or quarantined. */
    async claim(db: Queryable, ids: readonly string[], worker: string): Promise<Set<string>> {
      const rows = await db.query<{ id: string }>(CLAIM, [ids, worker]);
      return new Set(rows.map(({ id }) => id));
    },
    /** Releases units that were not completed. */
    async release(db: Queryable, ids: readonly string[], worker: string): Promise<void> {
      await db.query(RELEASE, [ids, worker]);
    },
    async countQuarantined(db: Queryable): Promise<number> {
      const [row] = await db.query<{ count: number }>(COUNT_QUARANTINED);
      return row?.count ?? 0;
    },
  };
}
