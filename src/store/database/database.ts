import { createHash } from "node:crypto";
import type pg from "pg";
import { withTimeout } from "../../runtime/async/timeouts-and-retries.ts";
import type { Config } from "../../runtime/config/config.ts";
import { SECOND } from "../../runtime/durations.ts";
import { type ConnectionUsage, type ConnectionUser, createConnections } from "./connections.ts";
import { DatabaseUnavailable, isConnectionFault, isDeadlock, isPartitionConflict } from "./faults.ts";

/** A statement with constant text, prepared once per connection under the hash of its text. */
export interface Statement {
  text: string;
  name: string;
}

export const sql = (text: string): Statement => ({
  text,
  name: createHash("sha1").update(text).digest("base64url"),
});

export interface Queryable {
  /** Returns the rows of one statement. A plain string is for text built at run time; it is not prepared. */
  query<Row extends object>(statement: Statement | string, values?: readonly unknown[]): Promise<Row[]>;
}

export interface Database extends Queryable {
  /**
   * Commits all or nothing. An error thrown by `work` rolls back and is rethrown. After a deadlock or a
   * partition conflict `work` runs again.
   */
  transaction<T>(work: (tx: Queryable) => Promise<T>): Promise<T>;
  /**
   * The same database for one caller: its statements use the connections of this key, and wait in turn with other keys.
   * A statement that waits when `callerGone` aborts is not run.
   */
  forKey(key: string, callerGone?: () => AbortSignal): Database;
  /** Runs one round trip; throws when it takes longer than `timeoutMs` milliseconds. */
  ping(timeoutMs: number): Promise<void>;
  /** The connections in use at the moment, over all keys. */
  usage(): ConnectionUsage;
  close(): Promise<void>;
}

type Settings = Pick<Config, "DATABASE_URL" | "DATABASE_POOL" | "DATABASE_PREPARED">;

export interface DatabaseOptions {
  /** Longest wait of a caller for one statement, including the wait for a connection. */
  statementTimeoutMs?: number | "endless" | undefined;
  /** The connections of one key at most; see forKey. Undefined: statements of all keys wait in one queue. */
  sharePerKey?: number | undefined;
  /** Keeps one connection open while it is idle. */
  keepsConnection?: boolean;
}

const STATEMENT_TIMEOUT_MS = 30 * SECOND;
const CONNECT_TIMEOUT_MS = 5 * SECOND;
const MAX_RETRIES = 3;
/**
 * The plan of a prepared statement may be from a time when its tables were small; it would read a whole backlog until the next
 * ANALYZE. After a statement that took this long, all connections forget their plans, unless they did so recently.
 */
const SLOW_STATEMENT_MS = 30;
const MIN_REPLAN_INTERVAL_MS = 10 * SECOND;

/** The key of statements that are not counted for a caller. */
const OWN_USER: ConnectionUser = { key: "own" };

/**
 * Connection pool, open until close() moves it to closing.
 * Open: connects on the first query and reconnects after a loss, so a process may start before Postgres. A
 * broken connection is reported to `onFault`.
 * Closing: running statements finish; broken connections are no longer reported.
 */
export function createDatabase(
  settings: Settings,
  onFault: (error: Error) => void,
  { statementTimeoutMs = STATEMENT_TIMEOUT_MS, sharePerKey, keepsConnection = false }: DatabaseOptions = {},
): Database {
  const maxWaitMs =
    statementTimeoutMs === "endless" ? CONNECT_TIMEOUT_MS : Math.min(statementTimeoutMs, CONNECT_TIMEOUT_MS);
  const connections = createConnections(settings, { onFault, maxWaitMs, sharePerKey, keepsConnection });
  const prepared = settings.DATABASE_PREPARED;
  const plans = createPlanAges();

  async function withClient<T>(user: ConnectionUser, work: (run: Run) => Promise<T>): Promise<T> {
    const startedAt = performance.now();
    const granted = connections.take(user);
    const grant = granted instanceof Promise ? await granted : granted;
    const client = await (granted === grant
      ? connections.connect(grant)
      : connections.connectWithin(maxWaitMs - (performance.now() - startedAt), grant));
    const run = runOn(client, { prepared, statementTimeoutMs, startedAt, onStatement: plans.onStatement });
    let fault: Error | undefined;
    try {
      if (plans.areOld(client)) await run("discard plans");
      return await work(run);
    } catch (error) {
      if (error instanceof DatabaseUnavailable) fault = error;
      throw error;
    } finally {
      client.release(fault);
      grant.release();
    }
  }

  /** Retries after a deadlock or a partition conflict: Postgres has rolled everything back. */
  async function withRetries<T>(user: ConnectionUser, work: (run: Run) => Promise<T>): Promise<T> {
    for (let retries = 0; ; retries++) {
      try {
        return await withClient(user, work);
      } catch (error) {
        if (!(isDeadlock(error) || isPartitionConflict(error)) || retries === MAX_RETRIES) throw error;
      }
    }
  }

  function bind(user: ConnectionUser): Database {
    return {
      async query<Row extends object>(statement: Statement | string, values?: readonly unknown[]) {
        const result = await withRetries(user, (run) => run<Row>(statement, { values, isFinal: true }));
        return result.rows;
      },
      transaction: (work) => withRetries(user, (run) => transact(run, work)),
      forKey,
      ping,
      usage: connections.usage,
      close: connections.close,
    };
  }

  async function ping(timeoutMs: number): Promise<void> {
    const answer = withClient(OWN_USER, (run) => run("select 1"));
    await withTimeout(timeoutMs, answer, () => {
      throw new DatabaseUnavailable(new Error(`no response within ${timeoutMs} ms`));
    });
  }

  const forKey = (key: string, callerGone?: () => AbortSignal): Database =>
    sharePerKey === undefined ? own : bind({ key, callerGone });
  const own = bind(OWN_USER);
  return own;
}

/** Each connection has the plans of a generation. A slow statement begins the next one. */
function createPlanAges() {
  const generations = new WeakMap<pg.PoolClient, number>();
  let generation = 0;
  let begunAt = Number.NEGATIVE_INFINITY;
  return {
    onStatement(ms: number): void {
      const now = performance.now();
      if (ms < SLOW_STATEMENT_MS || now - begunAt < MIN_REPLAN_INTERVAL_MS) return;
      generation += 1;
      begunAt = now;
    },
    /** True once for each connection and generation. */
    areOld(client: pg.PoolClient): boolean {
      const known = generations.get(client);
      if (known !== generation) generations.set(client, generation);
      return known !== undefined && known < generation;
    },
  };
}

async function transact<T>(run: Run, work: (tx: Queryable) => Promise<T>): Promise<T> {
  await run("begin");
  try {
    const result = await work({
      query: async <Row extends object>(statement: Statement | string, values?: readonly unknown[]) =>
        (await run<Row>(statement, { values })).rows,
    });
    const { command } = await run("commit", { isFinal: true });
    // Postgres responds with ROLLBACK when a statement failed and `work` ignored its error.
    if (command !== "COMMIT")
      throw new Error("the transaction was rolled back: a statement in it had failed");
    return result;
  } catch (error) {
    if (!(error instanceof DatabaseUnavailable)) await run("rollback");
    throw error;
  }
}

interface RunOptions {
  values?: readonly unknown[] | undefined;
  /** True for a statement that commits: without its answer, the outcome is not known. */
  isFinal?: boolean;
}

/** Runs one statement on a connection. */
type Run = <Row extends object>(
  statement: Statement | string,
  options?: RunOptions,
) => Promise<pg.QueryResult<Row>>;

interface ConnectionRules {
  prepared: boolean;
  statementTimeoutMs: number | "endless";
  /** When the caller began to wait for the connection. */
  startedAt: number;
  /** Called with the milliseconds of each statement. */
  onStatement(ms: number): void;
}

/** The wait for the connection counts against the timeout of the first statement. */
function runOn(client: pg.PoolClient, rules: ConnectionRules): Run {
  const { prepared, statementTimeoutMs, onStatement } = rules;
  let waitStartedAt = rules.startedAt;
  return async <Row extends object>(
    statement: Statement | string,
    { values = [], isFinal = false }: RunOptions = {},
  ) => {
    const named = typeof statement === "string" ? { text: statement } : statement;
    const query = { ...(prepared ? named : { text: named.text }), values: [...values] };
    const sentAt = performance.now();
    try {
      return await client.query<Row>({ ...query, ...timeoutOf(statementTimeoutMs, waitStartedAt) });
    } catch (error) {
      if (!isConnectionFault(error)) throw error;
      throw new DatabaseUnavailable(error, isFinal && !isRead(named.text));
    } finally {
      waitStartedAt = performance.now();
      onStatement(waitStartedAt - sentAt);
    }
  };
}

/** Enforced in this process: a statement_timeout would be a startup parameter, which poolers reject. */
const timeoutOf = (timeoutMs: number | "endless", startedAt: number) =>
  timeoutMs === "endless"
    ? {}
    : { query_timeout: Math.max(1, Math.round(timeoutMs - (performance.now() - startedAt))) };

const isRead = (text: string) => /^\s*select\b/i.test(text);

const NOW = sql("select clock_timestamp() as now");

/** Returns the time of the database's clock. */
export async function databaseTime(db: Queryable): Promise<Date> {
  const [row] = await db.query<{ now: Date }>(NOW);
  return (row as { now: Date }).now;
}

/**
 * SQL: always true. The statement's transaction then commits without waiting for the disk. For writes that may be lost when
 * Postgres crashes; a later commit that waits saves them too.
 */
export const COMMIT_IN_MEMORY = "(select set_config('synchronous_commit', 'off', true)) is not null";
