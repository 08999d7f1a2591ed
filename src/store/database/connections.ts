import pg from "pg";
import { withTimeout } from "../../runtime/async/with-timeout.ts";
import type { Config } from "../../runtime/config/config.ts";
import type { Grant } from "../../runtime/shares.ts";
import { connectionOptions } from "./connection.ts";
import { createConnectionGate } from "./connection-gate.ts";
import { DatabaseUnavailable } from "./faults.ts";

interface ConnectionsOptions {
  onFault(error: Error): void;
  maxWaitMs: number;
  sharePerKey: number | undefined;
  keepsConnection: boolean;
}

/** The pool and the gate in front of it, which admits as many callers as the pool has connections. */
export function createConnections(
  { DATABASE_URL, DATABASE_POOL }: Pick<Config, "DATABASE_URL" | "DATABASE_POOL">,
  { onFault, maxWaitMs, sharePerKey, keepsConnection }: ConnectionsOptions,
) {
  const pool = new pg.Pool({
    ...connectionOptions(DATABASE_URL),
    max: DATABASE_POOL,
    min: keepsConnection ? 1 : 0,
    connectionTimeoutMillis: maxWaitMs,
  });
  // A connection that breaks while idle or between statements is replaced at the next use. Without listeners
  // on both the client and the pool, its error would end the process.
  let isClosing = false;
  pool.on("connect", (client) => client.on("error", (error) => isClosing || onFault(error)));
  pool.on("error", () => {});

  /** Every failure to connect (also a wrong password or a missing database) is an outage to the caller. */
  const connect = (grant: Grant): Promise<pg.PoolClient> =>
    pool.connect().catch((error: Error) => {
      grant.release();
      throw new DatabaseUnavailable(error);
    });

  return {
    take: createConnectionGate({ capacity: DATABASE_POOL, sharePerKey, maxWaitMs }),
    connect,
    /** Connects in the time that the wait for the grant has left. The grant is kept until the connection is back. */
    async connectWithin(timeoutMs: number, grant: Grant): Promise<pg.PoolClient> {
      const connecting = connect(grant);
      const giveBack = (client: pg.PoolClient) => {
        client.release();
        grant.release();
      };
      return withTimeout(timeoutMs, connecting, () => {
        connecting.then(giveBack, () => {});
        throw new DatabaseUnavailable(new Error("no connection was made in time"));
      });
    },
    async close() {
      isClosing = true;
      await pool.end();
    },
  };
}
