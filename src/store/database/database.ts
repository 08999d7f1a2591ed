import { createHash } from "node:crypto";
import type pg from "pg";
import { withTimeout } from "../../runtime/async/timeouts-and-retries.ts";
import type { Config } from "../../runtime/config/config.ts";
import { IDLE_IN_TRANSACTION_LIMIT_MS, STATEMENT_LIMIT_MARGIN_MS } from "../../runtime/deadlines.ts";
import { SECOND } from "../../runtime/durations.ts";
import {
  type ConnectionUsage,
  type ConnectionUser,
  cancelStatement,
  createConnections,
} from "./connections.ts";
import {
  DatabaseUnavailable,
  isAbandoned,
  isConnectionFault,
  isDeadlock,
  isPartitionConflict,
  StatementAbandoned,
} from "./faults.ts";

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

export interface TransactionLimits {
  /** Postgres ends a statement that runs longer; see isStatementTimeout. */
  statementMs?: number;
}

export interface Database extends Queryable {
  /**
   * Commits all or nothing. An error thrown by `work` rolls back and is rethrown. After a deadlock or a
   * partition conflict `work` runs again.
   */
  transaction<T>(work: (tx: Queryable) => Promise<T>, limits?: TransactionLimits): Promise<T>;
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
  /** Postgres rolls back a transaction that waits this long for this process. */
  idleLimitMs?: number;
  /** The connections of one key at most; see forKey. Undefined: statements of all keys wait in one queue. */
  sharePerKey?: number | undefined;
  /** Keeps one connection open while it is idle. */
  keepsConnection?: boolean;
}

const STATEMENT_TIMEOUT_MS = 30 * SECOND;
const CONNECT_TIMEOUT_MS = 5 * SECOND;
const MAX_RETRIES = 3;

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
  {
    statementTimeoutMs = STATEMENT_TIMEOUT_MS,
    idleLimitMs = IDLE_IN_TRANSACTION_LIMIT_MS,
    sharePerKey,
    keepsConnection = false,
  }: DatabaseOptions = {},
): Database {
  const maxWaitMs =
    statementTimeoutMs === "endless" ? CONNECT_TIMEOUT_MS : Math.min(statementTimeoutMs, CONNECT_TIMEOUT_MS);
  const connections = createConnections(settings, { onFault, maxWaitMs, sharePerKey, keepsConnection });
  const prepared = settings.DATABASE_PREPARED;
  const statementLimitMs =
    statementTimeoutMs === "endless" ? undefined : statementTimeoutMs + STATEMENT_LIMIT_MARGIN_MS;

  async function withClient<T>(user: ConnectionUser, work: (run: Run) => Promise<T>): Promise<T> {
    const startedAt = performance.now();
    const granted = connections.take(user);
    const grant = granted instanceof Promise ? await granted : granted;
    const client = await (granted === grant
      ? connections.connect(grant)
      : connections.connectWithin(maxWaitMs - (performance.now() - startedAt), grant));
    const run = runOn(client, { prepared, statementTimeoutMs, startedAt });
    const release = (fault?: Error) => {
      client.release(fault);
      grant.release();
    };
    try {
      const result = await work(run);
      release();
      return result;
    } catch (error) {
      // A pooler knows the statement only while the connection is open.
      if (error instanceof StatementAbandoned) void cancelStatement(client).then(() => release(error));
      else release(error instanceof DatabaseUnavailable ? error : undefined);
      throw error;
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
      transaction: (work, { statementMs = statementLimitMs } = {}) =>
        withRetries(user, (run) => transact(run, work, { idleLimitMs, statementMs })),
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

interface ServerLimits {
  idleLimitMs: number;
  /** Undefined: without a limit. */
  statementMs: number | undefined;
}

/**
 * Begins a transaction whose limits Postgres enforces: a process that freezes, or whose machine is lost, keeps its locks no
 * longer. `set local` also holds behind a pooler; the three commands are one round trip.
 */
const beginWithin = ({ idleLimitMs, statementMs }: ServerLimits): string =>
  [
    "begin",
    `set local idle_in_transaction_session_timeout = ${idleLimitMs}`,
    ...(statementMs === undefined ? [] : [`set local statement_timeout = ${statementMs}`]),
  ].join("; ");

async function transact<T>(run: Run, work: (tx: Queryable) => Promise<T>, limits: ServerLimits): Promise<T> {
  await run(beginWithin(limits));
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
}

/** The wait for the connection counts against the timeout of the first statement. */
function runOn(client: pg.PoolClient, rules: ConnectionRules): Run {
  const { prepared, statementTimeoutMs } = rules;
  let waitStartedAt = rules.startedAt;
  return async <Row extends object>(
    statement: Statement | string,
    { values = [], isFinal = false }: RunOptions = {},
  ) => {
    const named = typeof statement === "string" ? { text: statement } : statement;
    const query = { ...(prepared ? named : { text: named.text }), values: [...values] };
    try {
      return await client.query<Row>({ ...query, ...timeoutOf(statementTimeoutMs, waitStartedAt) });
    } catch (error) {
      if (!isConnectionFault(error)) throw error;
      const Fault = isAbandoned(error) ? StatementAbandoned : DatabaseUnavailable;
      throw new Fault(error, isFinal && !isRead(named.text));
    } finally {
      waitStartedAt = performance.now();
    }
  };
}

/** Enforced in this process too: Postgres cannot limit the wait for its answer, or a statement outside of a transaction. */
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
