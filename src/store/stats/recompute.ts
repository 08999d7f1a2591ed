import { HOUR } from "../../runtime/durations.ts";
import { timeOfId } from "../../runtime/ids.ts";
import { type Database, type Queryable, type Statement, sql } from "../database/database.ts";
import { WITHOUT_JIT } from "../events/waiting-deliveries.ts";
import { type ClientHour, hourColumns, hourOf, hourTable, idRange } from "./client-hours.ts";
import { countNames, isOfHour, STATS_SUBJECTS, type StatsSubject } from "./subjects.ts";

/** Everything here spans all clients: it computes the figures of hours from their messages or deliveries. */

/**
 * One writer at a time: otherwise an older snapshot could overwrite the figures of a newer one. A statement of
 * its own, so that the next one sees everything committed before. The timeout ends a scheduler that froze.
 */
const LOCK = sql(`
  select
    set_config('idle_in_transaction_session_timeout', '5s', true),
    ${WITHOUT_JIT},
    pg_advisory_xact_lock(hashtext('herald:stats ' || $1::text))`);

/**
 * Rows are deleted by retention only, so a smaller `accepted` means that some of them are gone: the figures
 * stay. The two outer bounds let Postgres skip the other partitions.
 */
function recomputeStatement(subject: StatsSubject): Statement {
  const { table, dimension, source, outcomes } = subject;
  const counts = countNames(subject);
  const columns = (alias: string) => counts.map((name) => `${alias}.${name}`).join(", ");
  return sql(`
  with alive as materialized (
    select id
    from clients
    where id = any($1)
    and deleted_at is null
    order by id
    for key share
  )
  insert into ${table} as s (client_id, start, ${dimension}, ${counts.join(", ")})
  select h.client_id, h.start, c.${dimension}, ${columns("c")}
  from ${hourTable()}
  cross join lateral (
    select ${subject.dimensionOf} as ${dimension}, ${counts.map((name) => `sum(g.${name})::integer as ${name}`).join(", ")}
    from (
      select
        ${subject.groups},
        count(*) as accepted,
        ${Object.entries(outcomes)
          .map(([name, condition]) => `count(*) filter (where ${condition}) as ${name}`)
          .join(",\n        ")}
      from ${source.table} ${source.alias}
      where ${isOfHour(subject, "h")}
      and ${source.alias}.id >= $5
      and ${source.alias}.id < $6
      group by 1, 2
    ) g
    ${subject.lookup}
    group by 1
  ) c
  where h.client_id = any(array(select id from alive))
  on conflict (client_id, start, ${dimension}) do update
  set ${counts.map((name) => `${name} = excluded.${name}`).join(", ")}
  where (${columns("s")}) <> (${columns("excluded")})
  and excluded.accepted >= s.accepted
  returning 1 as one`);
}

const RECOMPUTE = {
  messages: recomputeStatement(STATS_SUBJECTS.messages),
  events: recomputeStatement(STATS_SUBJECTS.events),
};

async function recompute(
  tx: Queryable,
  subject: StatsSubject,
  hours: readonly ClientHour[],
): Promise<number> {
  if (hours.length === 0) return 0;
  const starts = hours.map(({ start }) => start);
  const [from] = idRange(subject, Math.min(...starts));
  const [, to] = idRange(subject, Math.max(...starts));
  const rows = await tx.query(RECOMPUTE[subject.name], [...hourColumns(subject, hours), from, to]);
  return rows.length;
}

/** Computes the figures of these hours; returns how many rows have changed. */
export const recomputeHours = (
  db: Database,
  subject: StatsSubject,
  hours: readonly ClientHour[],
): Promise<number> =>
  db.transaction(async (tx) => {
    await tx.query(LOCK, [subject.name]);
    return recompute(tx, subject, hours);
  });

const TAKE_LATE_CHANGES = sql(`
  delete from late_changes
  where ctid = any(array(
    select ctid
    from late_changes
    where starts_with(id, $1)
    limit $2
  ))
  returning client_id as "clientId", id`);

interface RecomputedHours {
  /** Rows of late_changes that were deleted. */
  taken: number;
  changed: number;
}

/** Computes the hours of up to `limit` late changes, and forgets these changes in the same transaction. */
export const recomputeLateChanges = (
  db: Database,
  subject: StatsSubject,
  limit: number,
): Promise<RecomputedHours> =>
  db.transaction(async (tx) => {
    await tx.query(LOCK, [subject.name]);
    const taken = await tx.query<{ clientId: string; id: string }>(TAKE_LATE_CHANGES, [
      `${subject.prefix}_`,
      limit,
    ]);
    return { taken: taken.length, changed: await recompute(tx, subject, toHours(taken)) };
  });

function toHours(changes: readonly { clientId: string; id: string }[]): ClientHour[] {
  const hours = changes.map(({ clientId, id }) => ({ clientId, start: hourOf(timeOfId(id)) }));
  return [...new Map(hours.map((hour) => [`${hour.clientId} ${hour.start / HOUR}`, hour])).values()];
}
