import { join } from "node:path";
import pg from "pg";
import { loadMigrationFiles, migrate } from "postgres-migrations";
import { packageRoot } from "../../runtime/package-root.ts";
import { connectionOptions } from "./connection.ts";
import { DatabaseUnavailable, isMissingTable } from "./faults.ts";

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

/** Compares the files of sql/ with the migrations that the database has applied. */
export async function inspectMigrations(address: string): Promise<MigrationState> {
  const files = await loadMigrationFiles(migrationsFolder());
  const applied = await withConnection(address, appliedHashes);
  const namesOf = (wanted: typeof files) => wanted.map(({ fileName }) => fileName);
  return {
    pending: namesOf(files.filter(({ id }) => !applied.has(id))),
    changed: namesOf(files.filter(({ id, hash }) => applied.has(id) && applied.get(id) !== hash)),
  };
}

async function appliedHashes(client: pg.Client): Promise<Map<number, string>> {
  try {
    const { rows } = await client.query<{ id: number; hash: string }>("select id, hash from migrations");
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
