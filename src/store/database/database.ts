import { createHash } from "node:crypto";
import pg from "pg";
import { withTimeout } from "../../runtime/async/with-timeout.ts";
import type { Config } from "../../runtime/config/config.ts";
import { SECOND } from "../../runtime/durations.ts";
import { connectionOptions } from "./connection.ts";
import { DatabaseUnavailable, isConnectionFault, isDeadlock, isPartitionConflict } from "./faults.ts";

/** A statement whose text never changes, prepared once per connection under a name made from the text. */
export interface Statement {
  text: string;
  name: string;
}

export const sql = (text: string): Statement => ({
  text,
  name: createHash("sha1").update(text).digest("base64url"),
});

export interface Queryable {
  /** Rows of one statement. A plain text is for statements that are put together at run time; it is not prepared. */
  query<Row extends object>(statement: Statement | string, values?: readonly unknown[]): Promise<Row[]>;
}

export interface Database extends Queryable {
  /** All or nothing. What `work` throws rolls back and is thrown on; it runs again where it fell victim to others. */
  transaction<T>(work: (tx: Queryable) => Promise<T>): Promise<T>;
  /** One round trip within `timeoutMs` milliseconds, or it throws. */
  ping(timeoutMs: number): Promise<void>;
  close(): Promise<void>;
}

type Settings = Pick<Config, "DATABASE_URL" | "DATABASE_POOL" | "DATABASE_PREPARED">;

/** How long a request may wait for one statement. */
const STATEMENT_TIMEOUT_MS = 30 * SECOND;
const MAX_RETRIES = 3;

/** The pool. It connects at the first query, and again after a loss: a process may start before its database. */
export function createDatabase(
  settings: Settings,
  onFault: (error: Error) => void,
  statementTimeoutMs: number | "endless" = STATEMENT_TIMEOUT_MS,
): Database {
  const pool = new pg.Pool({
    ...connectionOptions(settings.DATABASE_URL),
    max: settings.DATABASE_POOL,
    connectionTimeoutMillis: 5 * SECOND,
    // Kept on this side: a statement_timeout would be a startup parameter, which poolers refuse.
    ...(statementTimeoutMs === "endless" ? {} : { query_timeout: statementTimeoutMs }),
  });
  // A connection may break while it idles or between two statements of a transaction. It is replaced at the next use;
  // without listeners on both it would end the process. The pool has closed before its connections have: what breaks
  // then is nobody's fault.
  let isClosing = false;
  pool.on("connect", (client) => client.on("error", (error) => isClosing || onFault(error)));
  pool.on("error", () => {});
  const prepared = settings.DATABASE_PREPARED;

  /** Whatever keeps us from a connection (also a wrong password, a missing database) is an outage to the caller. */
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

  /** The victim of a deadlock, or of a partition made meanwhile, may simply come again: nothing of it has happened. */
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
          // Postgres answers so when a statement failed inside and `work` went on as if it had not.
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
        throw new DatabaseUnavailable(new Error(`no answer within ${timeoutMs} ms`));
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
