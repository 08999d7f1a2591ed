import { join } from "node:path";
import pg from "pg";
import { migrate } from "postgres-migrations";
import { packageRoot } from "../runtime/package-root.ts";
import { connectionOptions } from "./connection.ts";

/** Applies the files of sql/ that are missing and answers their names. Two at once: the second waits for the first. */
export async function applyMigrations(address: string): Promise<string[]> {
  const client = new pg.Client(connectionOptions(address));
  await client.connect();
  try {
    const applied = await migrate({ client }, join(packageRoot(), "sql"));
    return applied.map((migration) => migration.fileName);
  } finally {
    await client.end();
  }
}
