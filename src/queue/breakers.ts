import { PROBE_LEASE_MS } from "../runtime/deadlines.ts";
import { HOUR, MINUTE, SECOND } from "../runtime/durations.ts";
import type { Log } from "../runtime/log.ts";
import type { RedisClient } from "./redis.ts";
import { taggedKey, tagOf } from "./wake-ups.ts";

/**
 * The circuit breaker of a client's backend.
 * closed: calls are allowed. `recordResult` opens it after too many failures in this process.
 * open: no calls. The breaker becomes half-open when the open duration ends.
 * half_open: one probe is allowed. Its result closes the breaker, or opens it for twice as long.
 * It also closes when a call to another origin of the client ends, or when no probe comes for an hour.
 * Dispatchers count failures separately and share open breakers through Redis, which each reads in `refresh`.
 */

/** A client's backend. Another origin of the same client is another destination. */
export interface Destination {
  clientId: string;
  origin: string;
}

/** `remaining` and `duration` in milliseconds. */
type BreakerState =
  | { state: "closed" }
  | { state: "open"; remaining: number; duration: number }
  | { state: "half_open" };

/** An open or half-open breaker; a closed one has no record. */
export interface Breaker {
  origin: string;
  /** When the open breaker becomes half-open, in milliseconds since 1970. */
  until: number;
  failedProbes: number;
  /** When it first opened, in milliseconds since 1970; absent in records of earlier versions. */
  since?: number;
}

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

/** True for a breaker that is open; it is half-open otherwise. */
export const isOpen = ({ until }: Breaker): boolean => until > Date.now();

function countStates(breakers: readonly Breaker[], now: number): Record<"open" | "half_open", number> {
  const states = breakers.map((breaker) => stateAt(breaker, now).state);
  const countOf = (word: string) => states.filter((state) => state === word).length;
  return { open: countOf("open"), half_open: countOf("half_open") };
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
    // The breaker of a former origin would keep the client half-open, although calls no longer go there.
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

/** The failure window: results of the recent calls of this process to one destination. */
export interface FailureCounts {
  /** Failures since the last success. */
  consecutiveFailures: number;
  /** The two halves of the one-minute window, the older one first. */
  halves: readonly [HalfWindow, HalfWindow];
}

interface HalfWindow {
  startedAt: number;
  calls: number;
  failures: number;
}

const HALF_WINDOW_MS = MINUTE / 2;
const MAX_CONSECUTIVE_FAILURES = 5;
const MIN_CALLS = 20;

const emptyHalf = (startedAt: number): HalfWindow => ({ startedAt, calls: 0, failures: 0 });

export const newFailureCounts = (now: number): FailureCounts => ({
  consecutiveFailures: 0,
  halves: [emptyHalf(now), emptyHalf(now)],
});

/** Returns the counts after one more call. */
export function countCall(
  { consecutiveFailures, halves }: FailureCounts,
  isFailure: boolean,
  now: number,
): FailureCounts {
  const [older, newer] = now - halves[1].startedAt < HALF_WINDOW_MS ? halves : [halves[1], emptyHalf(now)];
  const olderHalf = now - older.startedAt < 2 * HALF_WINDOW_MS ? older : emptyHalf(now);
  const newerHalf = { ...newer, calls: newer.calls + 1, failures: newer.failures + Number(isFailure) };
  return { consecutiveFailures: isFailure ? consecutiveFailures + 1 : 0, halves: [olderHalf, newerHalf] };
}

/** True when the counts can be dropped: the last call succeeded and the window is over. */
export const isExpired = ({ consecutiveFailures, halves }: FailureCounts, now: number): boolean =>
  consecutiveFailures === 0 && now - halves[1].startedAt > 2 * HALF_WINDOW_MS;

export function shouldOpen({ consecutiveFailures, halves: [older, newer] }: FailureCounts): boolean {
  const [calls, failures] = [older.calls + newer.calls, older.failures + newer.failures];
  return consecutiveFailures >= MAX_CONSECUTIVE_FAILURES || (calls >= MIN_CALLS && failures * 2 >= calls);
}

/** Milliseconds that a breaker stays open; each failed probe doubles them. */
export const openDuration = (failedProbes: number): number =>
  Math.min(5 * SECOND * 2 ** failedProbes, 10 * MINUTE);

/** Every dispatcher refreshes its breakers within this time. */
const PROPAGATION_MS = 2 * SECOND;

/** Fresh events and replays share this table: a client has the same backend for both. */
const tableKey = (tag: number) => taggedKey(tag, "breakers");

/** Reads the breaker of one client; undefined when it is closed. Throws while Redis is unavailable. */
async function readBreaker(
  redis: RedisClient,
  tags: readonly number[],
  clientId: string,
): Promise<Breaker | undefined> {
  const text = await redis.hget(tableKey(tagOf(clientId, tags)), clientId);
  return text === null ? undefined : JSON.parse(text);
}

/** The state of a breaker, and when an open one lets the next probe through; null unless it is open. */
export interface SharedBreakerState {
  state: BreakerState["state"];
  until: Date | null;
}

/** Reads the state that the dispatchers share. Closed while Redis is unavailable: each dispatcher then decides alone. */
export async function readBreakerState(
  { redis, tags }: { redis: RedisClient; tags: readonly number[] },
  { clientId, origin }: Destination,
): Promise<SharedBreakerState> {
  const breaker = await readBreaker(redis, tags, clientId).catch(() => undefined);
  const now = Date.now();
  const state = stateAt(breaker?.origin === origin ? breaker : undefined, now);
  return { state: state.state, until: state.state === "open" ? new Date(now + state.remaining) : null };
}

/** Reads the breakers of one tag that are not closed, by client. Throws while Redis is unavailable. */
export async function listBreakers(redis: RedisClient, tag: number): Promise<Map<string, Breaker>> {
  const table = await redis.hgetall(tableKey(tag));
  return new Map(Object.entries(table).map(([clientId, text]) => [clientId, JSON.parse(text)]));
}

/** Shares breakers through Redis. While it is unavailable, every method except `tryAcquireProbe` throws. */
function createBreakerStore(redis: RedisClient, tags: readonly number[]) {
  const tableKeyOf = (clientId: string) => tableKey(tagOf(clientId, tags));
  const probeKeyOf = (clientId: string) => taggedKey(tagOf(clientId, tags), `probe:${clientId}`);
  return {
    async save(clientId: string, breaker: Breaker): Promise<void> {
      await redis.hset(tableKeyOf(clientId), clientId, JSON.stringify(breaker));
      // Keep the probe key until every dispatcher has read the new state; one with the old state would probe again.
      await redis.pexpire(probeKeyOf(clientId), PROPAGATION_MS);
    },
    async remove(clientId: string): Promise<void> {
      await redis.hdel(tableKeyOf(clientId), clientId);
      await redis.del(probeKeyOf(clientId));
    },
    /** False while another dispatcher probes this client's destination. True without Redis: each then decides alone. */
    async tryAcquireProbe(clientId: string): Promise<boolean> {
      const answer = await redis.set(probeKeyOf(clientId), "1", "PX", PROBE_LEASE_MS, "NX").catch(() => "OK");
      return answer === "OK";
    },
    /** Updates `known` from Redis. Those of a tag whose node does not answer stay as they are. */
    async refresh(known: Map<string, Breaker>): Promise<void> {
      const refreshTag = async (tag: number) => {
        const stored = await listBreakers(redis, tag);
        for (const clientId of known.keys())
          if (tagOf(clientId, tags) === tag && !stored.has(clientId)) known.delete(clientId);
        for (const [clientId, breaker] of stored) known.set(clientId, breaker);
      };
      const results = await Promise.allSettled(tags.map(refreshTag));
      const failed = results.find(({ status }) => status === "rejected");
      if (failed?.status === "rejected") throw failed.reason;
    },
  };
}
