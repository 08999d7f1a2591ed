import { join } from "node:path";
import pg from "pg";
import { loadMigrationFiles, migrate } from "postgres-migrations";
import { withTimeout } from "../../runtime/async/timeouts-and-retries.ts";
import { SECOND } from "../../runtime/durations.ts";
import type { Log } from "../../runtime/log.ts";
import { packageRoot } from "../../runtime/package-root.ts";
import type { Worker } from "../../runtime/supervise.ts";
import { connectionOptions } from "./connections.ts";
import { type Queryable, type Statement, sql } from "./database.ts";
import { DatabaseUnavailable, isMissingTable } from "./faults.ts";

/** The package's own migration, which creates the table `migrations`; it is not a file of sql/. */
const TABLE_MIGRATION_ID = 0;

const migrationsFolder = () => join(packageRoot(), "sql");

/** The first migration of databases that were created before the first release, by other files. */
const PRERELEASE_MIGRATION = "clients";

export const PRERELEASE_FIX =
  "Create an empty database, set DATABASE_URL (and DATABASE_DIRECT_URL, if it is set) to it and run herald migrate; with npm start, remove its folder .herald";

/** The database was created before the first release. Its tables differ from those that sql/ creates. */
export class PrereleaseDatabase extends Error {
  override name = "PrereleaseDatabase";
  constructor() {
    super(
      `the database was created by a version of Herald before the first release and cannot be migrated; nothing was changed. ${PRERELEASE_FIX}`,
    );
  }
}

/**
 * Applies missing files of sql/ and returns their names. A concurrent call waits for the first one. Throws
 * PrereleaseDatabase before anything is applied.
 */
export async function applyMigrations(address: string): Promise<string[]> {
  return withConnection(address, async (client) => {
    const applied = await readApplied(async ({ text }) => (await client.query<AppliedMigration>(text)).rows);
    if (isPrerelease(applied)) throw new PrereleaseDatabase();
    const migrations = await migrate({ client }, migrationsFolder());
    return migrations.map(({ fileName }) => fileName);
  });
}

export interface MigrationState {
  /** Files of sql/ that are not applied; all of them for a database that was created before the first release. */
  pending: string[];
  /** Files of sql/ whose name or content differs from what was applied. */
  changed: string[];
  isPrerelease: boolean;
}

/** Compares the files of sql/ with the migrations that the database has applied. A newer database lacks none. */
export async function inspectMigrations(db: Queryable): Promise<MigrationState> {
  const files = await loadMigrationFiles(migrationsFolder());
  const rows = await readApplied((statement) => db.query(statement));
  const applied = new Map(isPrerelease(rows) ? [] : rows.map(({ id, hash }) => [id, hash]));
  const namesOf = (wanted: typeof files) =>
    wanted.filter(({ id }) => id !== TABLE_MIGRATION_ID).map(({ fileName }) => fileName);
  return {
    pending: namesOf(files.filter(({ id }) => !applied.has(id))),
    changed: namesOf(files.filter(({ id, hash }) => applied.has(id) && applied.get(id) !== hash)),
    isPrerelease: isPrerelease(rows),
  };
}

interface AppliedMigration {
  id: number;
  name: string;
  hash: string;
}

const SELECT_APPLIED = sql(`
  select id, name, hash
  from migrations`);

async function readApplied(
  query: (statement: Statement) => Promise<AppliedMigration[]>,
): Promise<AppliedMigration[]> {
  try {
    return await query(SELECT_APPLIED);
  } catch (error) {
    if (isMissingTable(error)) return [];
    throw error;
  }
}

const isPrerelease = (applied: readonly AppliedMigration[]): boolean =>
  applied.some(({ id, name }) => id === 1 && name === PRERELEASE_MIGRATION);

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

const CHECK_INTERVAL_MS = 1 * SECOND;
const START_TIMEOUT_MS = 2 * SECOND;

export interface MigrationCheck extends Worker {
  /** Files of sql/ that the database lacks. Throws while Postgres is unavailable. */
  missing(): Promise<readonly string[]>;
}

/**
 * Incomplete: migrations are missing or were never read; `missing` reads them, once a second at most.
 * Complete: `missing` has found all migrations applied; the database is not asked again.
 */
export function createMigrationCheck(db: Queryable, log: Log): MigrationCheck {
  let isComplete = false;
  let isReading = false;
  let readAgainAt = 0;
  let lastRead: Promise<readonly string[]> | undefined;
  const report = createReport(log);

  async function read(): Promise<readonly string[]> {
    isReading = true;
    try {
      const state = await inspectMigrations(db);
      isComplete = state.pending.length === 0;
      report(state);
      return state.pending;
    } finally {
      isReading = false;
      readAgainAt = performance.now() + CHECK_INTERVAL_MS;
    }
  }

  function missing(): Promise<readonly string[]> {
    const isFresh = isComplete || isReading || performance.now() < readAgainAt;
    if (lastRead === undefined || !isFresh) lastRead = read();
    return lastRead;
  }

  return {
    name: "migration-check",
    missing,
    /** Logs missing migrations at the start, also when readiness is never requested. */
    start: () => waitAtStart(missing()),
  };
}

/** Waits for a check at the start of a process. Without Postgres the process starts all the same. */
async function waitAtStart(check: Promise<unknown>): Promise<void> {
  const ended = check.catch(() => {});
  await withTimeout(START_TIMEOUT_MS, ended, () => {});
}

/** Throws PrereleaseDatabase when the database was created before the first release. */
export async function refusePrereleaseDatabase(db: Queryable): Promise<void> {
  if (isPrerelease(await readApplied((statement) => db.query(statement)))) throw new PrereleaseDatabase();
}

/** Ends a process at its start when the database was created before the first release. Not for web, which reports it in /readyz. */
export const createPrereleaseCheck = (db: Queryable): Worker => ({
  name: "prerelease-check",
  start: ({ fail }) =>
    waitAtStart(
      refusePrereleaseDatabase(db).catch((error) => {
        if (error instanceof PrereleaseDatabase) fail(error); // also when Postgres answers after the wait
      }),
    ),
});

/** Logs the missing files once, and again when they change. */
function createReport(log: Log): (state: MigrationState) => void {
  let reported = "";
  return ({ pending, isPrerelease }) => {
    const files = pending.join(",");
    if (files === reported) return;
    reported = files;
    if (isPrerelease) log.error("migrations.refused", { err: new PrereleaseDatabase() });
    else if (pending.length > 0) log.warn("migrations.missing", { count: pending.length, files });
    else log.info("migrations.completed");
  };
}
