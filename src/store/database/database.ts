import { createHash } from "node:crypto";
import pg from "pg";
import { withTimeout } from "../../runtime/async/with-timeout.ts";
import type { Config } from "../../runtime/config/config.ts";
import { SECOND } from "../../runtime/durations.ts";
import { connectionOptions } from "./connection.ts";
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
  /** Runs one round trip; throws when it takes longer than `timeoutMs` milliseconds. */
  ping(timeoutMs: number): Promise<void>;
  close(): Promise<void>;
}

type Settings = Pick<Config, "DATABASE_URL" | "DATABASE_POOL" | "DATABASE_PREPARED">;

/** Longest wait of a caller for one statement. */
const STATEMENT_TIMEOUT_MS = 30 * SECOND;
const MAX_RETRIES = 3;

/**
 * Connection pool, open until close() moves it to closing.
 * Open: connects on the first query and reconnects after a loss, so a process may start before Postgres. A
 * broken connection is reported to `onFault`.
 * Closing: running statements finish; broken connections are no longer reported.
 */
export function createDatabase(
  settings: Settings,
  onFault: (error: Error) => void,
  statementTimeoutMs: number | "endless" = STATEMENT_TIMEOUT_MS,
): Database {
  const pool = new pg.Pool({
    ...connectionOptions(settings.DATABASE_URL),
    max: settings.DATABASE_POOL,
    connectionTimeoutMillis: 5 * SECOND,
    // Enforced in this process: a statement_timeout would be a startup parameter, which poolers reject.
    ...(statementTimeoutMs === "endless" ? {} : { query_timeout: statementTimeoutMs }),
  });
  // A connection that breaks while idle or between statements is replaced at the next use. Without listeners
  // on both the client and the pool, its error would end the process.
  let isClosing = false;
  pool.on("connect", (client) => client.on("error", (error) => isClosing || onFault(error)));
  pool.on("error", () => {});
  const prepared = settings.DATABASE_PREPARED;

  /** Every failure to connect (also a wrong password or a missing database) is an outage to the caller. */
  const connect = () =>
    pool.connect().catch((error: Error) => {
      throw new DatabaseUnavailable(error);
    });

  async function withClient<T>(work: (client: pg.PoolClient) => Promise<T>): Promise<T> {
    const client = await connect();
    let fault: Error | undefined;
    try {
      return await work(client);
    } catch (error) {
      if (!isConnectionFault(error)) throw error;
      fault = error;
      throw new DatabaseUnavailable(error);
    } finally {
      client.release(fault);
    }
  }

  /** Retries after a deadlock or a partition conflict: Postgres has rolled everything back. */
  async function withRetries<T>(work: (client: pg.PoolClient) => Promise<T>): Promise<T> {
    for (let retries = 0; ; retries++) {
      try {
        return await withClient(work);
      } catch (error) {
        if (!(isDeadlock(error) || isPartitionConflict(error)) || retries === MAX_RETRIES) throw error;
      }
    }
  }

  return {
    query: (statement, values) => withRetries((client) => run(client, prepared, statement, values)),
    transaction: (work) =>
      withRetries(async (client) => {
        await client.query("begin");
        try {
          const result = await work({
            query: (statement, values) => run(client, prepared, statement, values),
          });
          const { command } = await client.query("commit");
          // Postgres responds with ROLLBACK when a statement failed and `work` ignored its error.
          if (command !== "COMMIT")
            throw new Error("the transaction was rolled back: a statement in it had failed");
          return result;
        } catch (error) {
          if (!isConnectionFault(error)) await client.query("rollback");
          throw error;
        }
      }),
    async ping(timeoutMs) {
      const answer = withClient((client) => run(client, prepared, "select 1"));
      await withTimeout(timeoutMs, answer, () => {
        throw new DatabaseUnavailable(new Error(`no response within ${timeoutMs} ms`));
      });
    },
    async close() {
      isClosing = true;
      await pool.end();
    },
  };
}

async function run<Row extends object>(
  client: pg.PoolClient,
  prepared: boolean,
  statement: Statement | string,
  values: readonly unknown[] = [],
): Promise<Row[]> {
  const query =
    typeof statement === "string" ? { text: statement } : prepared ? statement : { text: statement.text };
  const result = await client.query<Row>({ ...query, values: [...values] });
  return result.rows;
}
