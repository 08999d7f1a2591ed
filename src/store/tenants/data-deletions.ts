import { type Queryable, sql } from "../database/database.ts";

export interface DataDeletionRow {
  confirmation_code: string;
  connections: number;
  channels: number;
  erased_at: Date;
}

const INSERT = sql(`
  insert into data_deletions (confirmation_code, connections, channels)
  values ($1, $2, $3)`);

const FIND = sql(`
  select confirmation_code, connections, channels, erased_at
  from data_deletions
  where confirmation_code = $1`);

export async function insertDataDeletion(
  tx: Queryable,
  { confirmation_code, connections, channels }: Omit<DataDeletionRow, "erased_at">,
): Promise<void> {
  await tx.query(INSERT, [confirmation_code, connections, channels]);
}

/** Spans all clients: knowing the code is the authorisation. */
export async function findDataDeletion(db: Queryable, code: string): Promise<DataDeletionRow | undefined> {
  const [row] = await db.query<DataDeletionRow>(FIND, [code]);
  return row;
}
