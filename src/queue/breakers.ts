import { PROBE_LEASE_MS } from "../runtime/deadlines.ts";
import { HOUR, SECOND } from "../runtime/durations.ts";
import type { Log } from "../runtime/logging/log.ts";
import { type Breaker, createBreakerStore, readBreaker } from "./breaker-store.ts";
import {
  countCall,
  type FailureCounts,
  isExpired,
  newFailureCounts,
  openDuration,
  shouldOpen,
} from "./failure-window.ts";
import type { RedisClient } from "./redis.ts";

/**
 * A circuit breaker per destination. closed -> open: `recordResult` sees too many failures in this process.
 * open -> half_open: the open duration ends. half_open -> closed or open, for twice as long: the result of the probe.
 * It also closes when a call to another origin of the client ends, or when no probe comes for an hour.
 * Dispatchers count failures separately and share open breakers through Redis, which each reads in `refresh`.
 */

/** A client's backend. Another origin of the same client is another destination. */
export interface Destination {
  clientId: string;
  origin: string;
}

/** closed: calls are allowed. open: no calls for `remaining` milliseconds. half_open: one probe is allowed. */
type BreakerState =
  | { state: "closed" }
  | { state: "open"; remaining: number; duration: number }
  | { state: "half_open" };

const CLOSED: BreakerState = { state: "closed" };

const IDLE_BREAKER_TTL_MS = 1 * HOUR;
/** While another dispatcher probes the destination. */
const HALF_OPEN_WAIT_MS = 5 * SECOND;

function stateAt(breaker: Breaker | undefined, now: number): BreakerState {
  if (!breaker) return CLOSED;
  const duration = openDuration(breaker.failedProbes);
  const remaining = Math.min(breaker.until - now, duration); // the dispatcher that set it may have another clock
  return remaining > 0 ? { state: "open", remaining, duration } : { state: "half_open" };
}

function countStates(breakers: readonly Breaker[], now: number): Record<"open" | "half_open", number> {
  const states = breakers.map((breaker) => stateAt(breaker, now).state);
  const countOf = (word: string) => states.filter((state) => state === word).length;
  return { open: countOf("open"), half_open: countOf("half_open") };
}

/**
 * Reads the state that the dispatchers share. Closed while Redis is unavailable: each dispatcher then decides
 * alone.
 */
export async function readBreakerState(
  { redis, tags }: { redis: RedisClient; tags: readonly number[] },
  { clientId, origin }: Destination,
): Promise<BreakerState["state"]> {
  const breaker = await readBreaker(redis, tags, clientId).catch(() => undefined);
  return stateAt(breaker?.origin === origin ? breaker : undefined, Date.now()).state;
}

interface BreakerOptions {
  log?: Log;
  now?: () => number;
}

interface CallResult {
  isFailure: boolean;
  isProbe: boolean;
}

export type Breakers = ReturnType<typeof createBreakers>;

export function createBreakers(
  redis: RedisClient,
  tags: readonly number[],
  { log, now = Date.now }: BreakerOptions = {},
) {
  const store = createBreakerStore(redis, tags);
  const breakersByClient = new Map<string, Breaker>();
  /** Probes of this process by client, and when each expires without a result. */
  const probesUntil = new Map<string, number>();
  /** When this process may try again to probe a client that another dispatcher probes. */
  const probesDeniedUntil = new Map<string, number>();
  const countsByClient = new Map<string, FailureCounts & { origin: string }>();

  async function open({ clientId, origin }: Destination, last?: Breaker): Promise<void> {
    const failedProbes = last ? last.failedProbes + 1 : 0;
    const ms = openDuration(failedProbes);
    const since = last ? last.since : now();
    const breaker = { origin, until: now() + ms, failedProbes, ...(since === undefined ? {} : { since }) };
    log?.warn("breaker.opened", {
      client: clientId,
      origin,
      failed_probes: failedProbes,
      since: since === undefined ? undefined : new Date(since).toISOString(),
      ms,
    });
    breakersByClient.set(clientId, breaker);
    countsByClient.delete(clientId);
    probesUntil.delete(clientId);
    await store.save(clientId, breaker);
  }

  async function close(clientId: string): Promise<void> {
    log?.info("breaker.closed", { client: clientId, origin: breakersByClient.get(clientId)?.origin });
    for (const map of [breakersByClient, countsByClient, probesUntil, probesDeniedUntil])
      map.delete(clientId);
    await store.remove(clientId);
  }

  const breakerOf = ({ clientId, origin }: Destination): Breaker | undefined => {
    const breaker = breakersByClient.get(clientId);
    return breaker?.origin === origin ? breaker : undefined;
  };

  function recordCall({ clientId, origin }: Destination, isFailure: boolean): FailureCounts {
    const last = countsByClient.get(clientId);
    const counts = countCall(last?.origin === origin ? last : newFailureCounts(now()), isFailure, now());
    countsByClient.set(clientId, { ...counts, origin });
    return counts;
  }

  async function applyResult(destination: Destination, { isFailure, isProbe }: CallResult): Promise<void> {
    const { clientId } = destination;
    const breaker = breakerOf(destination);
    if (breaker && !isProbe) return; // the call began before the breaker opened
    if (breaker) return isFailure ? open(destination, breaker) : close(clientId);
    // The breaker of a former origin would keep the client half-open, although no call goes there any more.
    if (breakersByClient.has(clientId)) await close(clientId).catch(() => {});
    if (shouldOpen(recordCall(destination, isFailure))) await open(destination);
  }

  function sleepOf(clientId: string): number {
    const state = stateAt(breakersByClient.get(clientId), now());
    if (state.state === "closed") return 0;
    if (state.state === "open") return state.remaining;
    const probed = Math.max(probesDeniedUntil.get(clientId) ?? 0, probesUntil.get(clientId) ?? 0);
    return Math.max(0, probed - now());
  }

  return {
    stateOf: (destination: Destination): BreakerState => stateAt(breakerOf(destination), now()),
    /** For callers that do not know the client's current origin. */
    stateOfClient: (clientId: string): BreakerState => stateAt(breakersByClient.get(clientId), now()),
    isUnhealthy: (clientId: string): boolean =>
      breakersByClient.has(clientId) || (countsByClient.get(clientId)?.consecutiveFailures ?? 0) > 0,
    /** True when the caller may send the probe. */
    async tryAcquireProbe(clientId: string): Promise<boolean> {
      if ((probesUntil.get(clientId) ?? 0) > now()) return false;
      probesUntil.set(clientId, now() + PROBE_LEASE_MS);
      const isAcquired = await store.tryAcquireProbe(clientId);
      if (isAcquired) return true;
      probesUntil.delete(clientId);
      probesDeniedUntil.set(clientId, now() + HALF_OPEN_WAIT_MS);
      return false;
    },
    /** Milliseconds until calls for the client may start: while its breaker is open, or its backend is being probed. */
    sleepOf,
    /** Clients for which no call may start now. */
    sleepingClients: (): string[] => [...breakersByClient.keys()].filter((clientId) => sleepOf(clientId) > 0),
    /** Never throws: without Redis, the other dispatchers count failures themselves. */
    recordResult: (destination: Destination, result: CallResult): Promise<void> =>
      applyResult(destination, result).catch(() => {}),
    /** Reads the breakers that other dispatchers opened or closed; closes those without a probe for an hour. */
    async refresh(): Promise<void> {
      await store.refresh(breakersByClient);
      const cutoff = now() - IDLE_BREAKER_TTL_MS;
      for (const [clientId, { until }] of breakersByClient) if (until < cutoff) await close(clientId);
      for (const [clientId, counts] of countsByClient)
        if (isExpired(counts, now())) countsByClient.delete(clientId);
    },
    /** Clients whose breaker is not closed. */
    clients: (): string[] => [...breakersByClient.keys()],
    /** Closes the breaker of a client whose backend has another origin now; without Redis in this process only. */
    async closeFormer({ clientId, origin }: Destination): Promise<void> {
      const breaker = breakersByClient.get(clientId);
      if (breaker && breaker.origin !== origin) await close(clientId).catch(() => {});
    },
    counts: () => countStates([...breakersByClient.values()], now()),
  };
}
