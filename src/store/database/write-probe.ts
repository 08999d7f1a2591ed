import { type Database, sql } from "./database.ts";
import { DatabaseUnavailable } from "./faults.ts";

/** Enough rows that Postgres must take new pages from its disk: a full one still accepts small writes for a while. */
const WRITE = sql(`
  create temporary table herald_write_probe on commit drop as
  select n from generate_series(1, 20000) n`);

/** A role without the right to create temporary tables cannot be probed this way. */
const PERMISSION_DENIED = "42501";

/**
 * Writes rows and drops them again. Throws the refusal of a Postgres that answers but does not accept writes, because its
 * disk is full or it is a replica.
 */
export async function probeWrites(db: Database): Promise<void> {
  try {
    await db.transaction((tx) => tx.query(WRITE));
  } catch (error) {
    const { code } = (error instanceof DatabaseUnavailable ? error.cause : error) as { code?: string };
    if (code !== PERMISSION_DENIED) throw error;
  }
}
