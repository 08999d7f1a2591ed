import { type Queryable, sql } from "../database/database.ts";

export interface DataDeletionRow {
  confirmation_code: string;
  connections: number;
  channels: number;
  /** Unfinished embedded signups. */
  signups: number;
  erased_at: Date;
}

const INSERT = sql(`
  insert into data_deletions (confirmation_code, connections, channels, signups)
  values ($1, $2, $3, $4)`);

const FIND = sql(`
  select confirmation_code, connections, channels, signups, erased_at
  from data_deletions
  where confirmation_code = $1`);

export async function insertDataDeletion(
  tx: Queryable,
  { confirmation_code, connections, channels, signups }: Omit<DataDeletionRow, "erased_at">,
): Promise<void> {
  await tx.query(INSERT, [confirmation_code, connections, channels, signups]);
}

/** Spans all clients: knowing the code is the authorisation. */
export async function findDataDeletion(db: Queryable, code: string): Promise<DataDeletionRow | undefined> {
  const [row] = await db.query<DataDeletionRow>(FIND, [code]);
  return row;
}
