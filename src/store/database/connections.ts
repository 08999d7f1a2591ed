import { createConnection, type Socket } from "node:net";
import type { ClientConfig } from "pg";
import pg from "pg";
import { createShares, type Grant, ShareRefused } from "../../runtime/async/shares.ts";
import { withTimeout } from "../../runtime/async/timeouts-and-retries.ts";
import type { Config } from "../../runtime/config/config.ts";
import { SECOND } from "../../runtime/durations.ts";
import { ConnectionsBusy, DatabaseUnavailable } from "./faults.ts";

/**
 * Connection options for pg. `sslmode` has the meaning of libpq: `require` encrypts without verifying the
 * certificate, which Heroku-style databases need; pg would treat it as `verify-full`.
 */
export function connectionOptions(address: string): ClientConfig {
  const url = new URL(address);
  const mode = url.searchParams.get("sslmode");
  url.searchParams.delete("sslmode");
  const hasRootCertificate = url.searchParams.has("sslrootcert");
  const shouldVerify = mode === "verify-full" || mode === "verify-ca" || hasRootCertificate;
  const ssl = mode === null || mode === "disable" ? {} : { ssl: { rejectUnauthorized: shouldVerify } };
  return { connectionString: url.href, ...ssl };
}

/** The connection of a client, and the key with which Postgres recognizes it in a request to cancel its statement. */
interface CancelKey {
  host: string;
  port: number;
  connection: { stream: Socket };
  processID: number;
  secretKey: number;
}

/** The code of such a request in the protocol of Postgres. */
const CANCEL_REQUEST = 80_877_102;
const CANCEL_TIMEOUT_MS = 1 * SECOND;

/**
 * Asks Postgres to end the statement of a connection. Resolves when it was asked, or could not be in time. The request goes to the
 * address of the connection, because the name of the server may have several. Postgres takes it without TLS.
 */
export function cancelStatement(client: pg.PoolClient): Promise<void> {
  const { host, port, connection, processID, secretKey } = client as unknown as CancelKey;
  const { remoteAddress = host, remotePort = port } = connection.stream;
  const request = Buffer.alloc(16);
  for (const [index, value] of [request.length, CANCEL_REQUEST, processID, secretKey].entries())
    request.writeInt32BE(value, index * 4);
  const socket = createConnection(
    host.startsWith("/") ? { path: `${host}/.s.PGSQL.${port}` } : { host: remoteAddress, port: remotePort },
  );
  socket.setTimeout(CANCEL_TIMEOUT_MS, () => socket.destroy());
  socket.on("error", () => {});
  // The server closes the connection: PgBouncer before 1.20 ends when the client does so first.
  socket.write(request);
  return new Promise((resolve) => socket.once("close", () => resolve()));
}

/** A caller for whom connections are counted. */
export interface ConnectionUser {
  key: string;
  /** Asked only when the caller has to wait; when the signal aborts, it leaves the queue. */
  callerGone?: (() => AbortSignal) | undefined;
}

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

  const gate = createConnectionGate({ capacity: DATABASE_POOL, sharePerKey, maxWaitMs });
  return {
    take: gate.take,
    usage: (): ConnectionUsage => ({
      used: pool.totalCount - pool.idleCount,
      waiting: gate.waiting(),
      max: DATABASE_POOL,
    }),
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

/** The connections of a pool. `waiting`: callers that wait for one. */
export interface ConnectionUsage {
  used: number;
  waiting: number;
  max: number;
}

interface GateOptions {
  /** The connections of the pool. */
  capacity: number;
  /** The connections of one key at most. Undefined: the callers are not distinguished. */
  sharePerKey: number | undefined;
  maxWaitMs: number;
}

interface ConnectionGate {
  /** Returns the permission to use one connection: at once when one is free, otherwise in turn between the keys. */
  take(user: ConnectionUser): Grant | Promise<Grant>;
  /** How many callers wait for their turn. */
  waiting(): number;
}

/** The key of callers without a credential, and of those whose credential is being looked up. */
export const ANONYMOUS_KEY = "anonymous";

/** Connections that one key leaves to the others. */
const OTHERS_CONNECTIONS = 2;

/** The connections of one key in a process that serves many clients. */
export const sharePerKeyOf = (pool: number): number => Math.max(1, pool - OTHERS_CONNECTIONS);

/** With fewer connections one key leaves less to the others than it should, or has only one itself. */
export const MIN_SHARED_POOL = 4;

/** Limits the callers in front of the pool: the pool's own queue knows no callers and would serve one before all others. */
function createConnectionGate({ capacity, sharePerKey, maxWaitMs }: GateOptions): ConnectionGate {
  const shares = createShares({
    capacity,
    share: sharePerKey ?? capacity,
    maxWaitingPerKey: Number.POSITIVE_INFINITY,
    maxWaitMs,
  });

  function toFault(refusal: unknown): unknown {
    if (!(refusal instanceof ShareRefused)) return refusal;
    if (sharePerKey !== undefined) return new ConnectionsBusy(refusal, refusal.reason === "share");
    return new DatabaseUnavailable(new Error(`no connection was free for ${maxWaitMs} ms`));
  }

  let waiting = 0;
  async function waitInTurn({ key, callerGone }: ConnectionUser): Promise<Grant> {
    waiting += 1;
    try {
      return await shares.take(key, 1, { signal: callerGone?.() });
    } catch (refusal) {
      throw toFault(refusal);
    } finally {
      waiting -= 1;
    }
  }

  return { take: (user) => shares.tryTake(user.key, 1) ?? waitInTurn(user), waiting: () => waiting };
}
