import { join } from "node:path";
import pg from "pg";
import { loadMigrationFiles, migrate } from "postgres-migrations";
import { packageRoot } from "../../runtime/package-root.ts";
import { connectionOptions } from "./connection.ts";
import { DatabaseUnavailable, isMissingTable } from "./faults.ts";

const folder = () => join(packageRoot(), "sql");

/** Applies the files of sql/ that are missing and answers their names. Two at once: the second waits for the first. */
export async function applyMigrations(address: string): Promise<string[]> {
  return connected(address, async (client) => {
    const applied = await migrate({ client }, folder());
    return applied.map((migration) => migration.fileName);
  });
}

/** The files of sql/ that the database lacks. */
export async function pendingMigrations(address: string): Promise<string[]> {
  const files = await loadMigrationFiles(folder());
  const applied = await connected(address, appliedIds);
  return files.filter(({ id }) => !applied.has(id)).map(({ fileName }) => fileName);
}

async function appliedIds(client: pg.Client): Promise<Set<number>> {
  try {
    const { rows } = await client.query<{ id: number }>("select id from migrations");
    return new Set(rows.map(({ id }) => id));
  } catch (error) {
    if (isMissingTable(error)) return new Set();
    throw error;
  }
}

async function connected<T>(address: string, work: (client: pg.Client) => Promise<T>): Promise<T> {
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
