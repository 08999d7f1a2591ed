import { createShares, type Grant, ShareRefused } from "../../runtime/shares.ts";
import { ConnectionsBusy, DatabaseUnavailable } from "./faults.ts";

/** A caller for whom connections are counted. */
export interface ConnectionUser {
  key: string;
  /** Asked only when the caller has to wait; when the signal aborts, it leaves the queue. */
  callerGone?: (() => AbortSignal) | undefined;
}

interface GateOptions {
  /** The connections of the pool. */
  capacity: number;
  /** The connections of one key at most. Undefined: the callers are not distinguished. */
  sharePerKey: number | undefined;
  maxWaitMs: number;
}

/** Returns the permission to use one connection: at once when one is free, otherwise in turn between the keys. */
type ConnectionGate = (user: ConnectionUser) => Grant | Promise<Grant>;

/** The key of callers without a credential, and of those whose credential is being looked up. */
export const ANONYMOUS_KEY = "anonymous";

/** Connections that one key leaves to the others. */
const OTHERS_CONNECTIONS = 2;

/** The connections of one key in a process that serves many clients. */
export const sharePerKeyOf = (pool: number): number => Math.max(1, pool - OTHERS_CONNECTIONS);

/** With fewer connections one key leaves less to the others than it should, or has only one itself. */
export const MIN_SHARED_POOL = 4;

/** Limits the callers in front of the pool: the pool's own queue knows no callers and would serve one before all others. */
export function createConnectionGate({ capacity, sharePerKey, maxWaitMs }: GateOptions): ConnectionGate {
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

  async function waitInTurn({ key, callerGone }: ConnectionUser): Promise<Grant> {
    try {
      return await shares.take(key, 1, { signal: callerGone?.() });
    } catch (refusal) {
      throw toFault(refusal);
    }
  }

  return (user) => shares.tryTake(user.key, 1) ?? waitInTurn(user);
}
