import { type Queryable, sql } from "../database/database.ts";

/** Fingerprints identify repetitions of events; insertEvents writes them. */

const FIND_FINGERPRINT = sql(`
  select 1 as one
  from event_fingerprints
  where client_id = $1
  and fingerprint = $2`);

export async function hasFingerprint(db: Queryable, clientId: string, fingerprint: string): Promise<boolean> {
  const rows = await db.query(FIND_FINGERPRINT, [clientId, fingerprint]);
  return rows.length > 0;
}

const DELETE_OLD_FINGERPRINTS = sql(`
  delete from event_fingerprints
  where ctid = any(array(
    select ctid
    from event_fingerprints
    where seen_at < now() - $1 * interval '1 millisecond'
    limit $2
  ))
  returning 1 as one`);

/**
 * Spans all clients: deletes up to `limit` fingerprints older than `maxAgeMs` milliseconds; returns how many.
 */
export async function deleteOldFingerprints(db: Queryable, maxAgeMs: number, limit: number): Promise<number> {
  const rows = await db.query(DELETE_OLD_FINGERPRINTS, [maxAgeMs, limit]);
  return rows.length;
}
