import { join } from "node:path";
import pg from "pg";
import { loadMigrationFiles, migrate } from "postgres-migrations";
import { packageRoot } from "../../runtime/package-root.ts";
import { connectionOptions } from "./connection.ts";
import { type Queryable, sql } from "./database.ts";
import { DatabaseUnavailable, isMissingTable } from "./faults.ts";

/** The package's own migration, which creates the table `migrations`; it is not a file of sql/. */
const TABLE_MIGRATION_ID = 0;

const migrationsFolder = () => join(packageRoot(), "sql");

/** Applies missing files of sql/ and returns their names. A concurrent call waits for the first one. */
export async function applyMigrations(address: string): Promise<string[]> {
  return withConnection(address, async (client) => {
    const applied = await migrate({ client }, migrationsFolder());
    return applied.map((migration) => migration.fileName);
  });
}

export interface MigrationState {
  /** Files of sql/ that are not applied. */
  pending: string[];
  /** Files of sql/ whose name or content differs from what was applied. */
  changed: string[];
}

/** Compares the files of sql/ with the migrations that the database has applied. A newer database lacks none. */
export async function inspectMigrations(db: Queryable): Promise<MigrationState> {
  const files = await loadMigrationFiles(migrationsFolder());
  const applied = await appliedHashes(db);
  const namesOf = (wanted: typeof files) =>
    wanted.filter(({ id }) => id !== TABLE_MIGRATION_ID).map(({ fileName }) => fileName);
  return {
    pending: namesOf(files.filter(({ id }) => !applied.has(id))),
    changed: namesOf(files.filter(({ id, hash }) => applied.has(id) && applied.get(id) !== hash)),
  };
}

const SELECT_APPLIED = sql(`
  select id, hash
  from migrations`);

async function appliedHashes(db: Queryable): Promise<Map<number, string>> {
  try {
    const rows = await db.query<{ id: number; hash: string }>(SELECT_APPLIED);
    return new Map(rows.map(({ id, hash }) => [id, hash]));
  } catch (error) {
    if (isMissingTable(error)) return new Map();
    throw error;
  }
}

async function withConnection<T>(address: string, work: (client: pg.Client) => Promise<T>): Promise<T> {
  const client = new pg.Client(connectionOptions(address));
  await client.connect().catch((error: Error) => {
    throw new DatabaseUnavailable(error);
  });
  try {
    return await work(client);
  } finally {
    await client.end();
  }
}
