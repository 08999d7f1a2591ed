import { randomUUID } from "node:crypto";
import { LRUCache } from "lru-cache";
import { pause, retryUntil } from "../../src/runtime/async/timeouts-and-retries.ts";
import { SECOND } from "../../src/runtime/durations.ts";
import type { Log } from "../../src/runtime/log.ts";
import { createOutageLogger } from "../../src/runtime/log.ts";
import type { LogEvent } from "../../src/runtime/log-events.ts";
import type { Worker } from "../../src/runtime/supervise.ts";

/**
 * The loop of a dispatcher (`run`): it waits for a reason to claim (a wake-up, the poll, a free slot, the end of a sleep),
 * decides which keys may start, claims their rows in one statement, and starts them. A key is what must not delay others:
 * the deliveries of a client, or the sends of a channel.
 * unknown: nothing says that the key has rows that are due. A wake-up or the poll makes it known.
 * known: it may have such rows. A claim that returns fewer than it asked for makes it unknown, unless it was woken meanwhile.
 * asleep: it is known and may not start for some time, such as while its circuit breaker is open or its rate is used up. Its rows are not touched.
 */

/** Slots that become free within this time share a claim. */
const GATHER_MS = 3;
/** Random, so that dispatchers do not poll together. */
const POLL_INTERVAL_MS = { min: 900, max: 1_100 };
/** While Redis does not answer, the poll alone finds new rows. */
const POLL_INTERVAL_WITHOUT_WAKE_UPS_MS = { min: 200, max: 300 };
/** A dispatcher that was full may have left wake-ups to others, whose rows it can now deliver. */
const POLL_INTERVAL_AFTER_FULL_MS = 100;
const RECENTLY_FULL_MS = 2 * SECOND;
/** A slow poll must not use the database all the time. It may only have waited for a connection: the pause has a limit. */
const POLL_PAUSE_FACTOR = 20;
const MAX_POLL_PAUSE_MS = 5 * SECOND;
/** How often the loop looks whether a poll is due: the interval may become shorter while it waits. */
const POLL_CHECK_MS = 50;
const MAX_KNOWN_KEYS = 1_000;
const MAX_REMEMBERED_KEYS = 10_000;
/** A row may be committed this much later than it was due. The poll finds those that are committed even later. */
const LATE_COMMIT_MS = 5 * SECOND;
/** A claim without an answer may be committed this much later. */
const LATE_CLAIM_MS = 5 * SECOND;
const RELEASE_RETRY_MS = { first: 200, max: 1 * SECOND };

export interface KeyRequest<K> {
  key: K;
  max: number;
  /** Rows that were due before this time are left out; null when the loop knows nothing of the key. */
  after: Date | null;
}

export interface Claim {
  lease: string;
  /** When the claim was requested, in milliseconds of a monotonic clock. */
  claimedAt: number;
}

/** How the loop learned of a key. */
export type Finder = "wake_up" | "poll";

/** The queue that the loop works on. A row is of one key. */
export interface ClaimQueue<K, R> {
  idOf(key: K): string;
  keyOf(row: R): K;
  /** Undefined for a row that was not claimed in the order of these times: it says nothing about the rows before it. */
  dueAtOf(row: R): Date | undefined;
  /** Slots of this process that a claim may use. */
  freeSlots(): number;
  /** Takes up to `count` slots for the key; returns how many it got. */
  acquire(key: K, count: number): number;
  release(key: K, count: number): void;
  /** Milliseconds until the key may start; 0 when it may start now. */
  sleepOf(key: K): number;
  /** Returns up to `limit` keys with rows that are due, and since when, in the order of keys after the given one. */
  poll(last: K | undefined, limit: number): Promise<{ key: K; after: Date }[]>;
  /** Resolves when further rows may be claimed, such as when few outcomes are unwritten. */
  waitUntilReady?(): Promise<void>;
  /** Returns how many rows of each request may start now, when a rate limits them. The others of its slots are released. */
  admit?(requests: readonly KeyRequest<K>[]): Promise<number[]>;
  claim(requests: readonly KeyRequest<K>[], lease: string): Promise<R[]>;
  /** Makes the rows of a claim wait again, because its answer was lost. */
  releaseClaim(lease: string): Promise<void>;
  /** Starts claimed rows; each keeps its slot until `onSlotFree` is called. */
  start(rows: readonly R[], claim: Claim): void;
}

interface ClaimLoopParts<K, R> {
  queue: ClaimQueue<K, R>;
  /** False while nothing may be claimed: the queue is held, or this dispatcher's heartbeats are not recorded. */
  mayClaim(): boolean;
  /** False while wake-ups cannot be written or read. */
  hasWakeUps(): boolean;
  onClaimed(finder: Finder, rows: number): void;
  log: Log;
  logEvents: { unavailable: LogEvent; recovered: LogEvent };
}

/** A request of a known key, and the key's version when it was chosen. */
type ChosenKey<K> = KeyRequest<K> & { entry: KnownKey<K>; version: number };

interface KnownKey<K> {
  key: K;
  after: Date | null;
  finder: Finder;
  /** When a claim last asked for rows of the key. */
  servedAt: number;
  /** Since when rows are due that were found after the last claim was chosen: the next one begins there. */
  foundAfter: Date | null;
  /** Increases with each wake-up. */
  version: number;
}

export function createClaimLoop<K, R>(parts: ClaimLoopParts<K, R>) {
  const { queue, mayClaim, log } = parts;
  const known = new Map<string, KnownKey<K>>();
  /** `after` of keys that may be unknown again: without it a claim reads the dead index entries of 30 seconds. */
  const lastDue = new LRUCache<string, Date>({ max: MAX_REMEMBERED_KEYS });
  const stopping = new AbortController();
  const { signal } = stopping;
  const outageLogger = createOutageLogger(log, parts.logEvents);
  const reason = createFlag();
  const freedSlots = createFlag();
  let running: Promise<unknown> = Promise.resolve();
  let reserved = 0;
  let fullAt = Number.NEGATIVE_INFINITY;
  let gatherTimer: NodeJS.Timeout | undefined;
  let sleepTimer: NodeJS.Timeout | undefined;

  async function run(): Promise<void> {
    while (!signal.aborted) {
      await reason.wait();
      await queue.waitUntilReady?.();
      const requests = !signal.aborted && mayClaim() ? chooseKeys() : [];
      if (requests.length > 0) await claimAndStart(requests);
    }
  }

  function learn(found: readonly { key: K; after: Date | null }[], finder: Finder): void {
    for (const { key, after } of found) {
      const id = queue.idOf(key);
      const entry = known.get(id);
      if (entry) {
        entry.version += 1;
        entry.foundAfter = earlierOf(entry.foundAfter, after);
      } else if (known.size < MAX_KNOWN_KEYS)
        known.set(id, {
          ...{ key, finder, servedAt: 0, version: 0, foundAfter: null },
          after: after ?? lastDue.get(id) ?? null,
        });
    }
    if (found.length > 0) reason.set();
  }

  /** Divides the free slots among the known keys that are not asleep; those that were served longest ago choose first. */
  function chooseKeys(): ChosenKey<K>[] {
    const awake = listAwake().sort((one, other) => one.servedAt - other.servedAt);
    const counts = new Map<KnownKey<K>, number>();
    for (let isProgress = true; isProgress; ) {
      isProgress = false;
      const share = Math.max(1, Math.floor(queue.freeSlots() / Math.max(1, awake.length)));
      for (const entry of awake) {
        const count = queue.freeSlots() > 0 ? queue.acquire(entry.key, share) : 0;
        if (count === 0) continue;
        isProgress = true;
        counts.set(entry, (counts.get(entry) ?? 0) + count);
      }
    }
    if (queue.freeSlots() === 0) fullAt = performance.now();
    return [...counts].map(([entry, max]) => {
      entry.servedAt = performance.now();
      entry.after = earlierOf(entry.after, entry.foundAfter);
      entry.foundAfter = null;
      return { key: entry.key, max, after: entry.after, entry, version: entry.version };
    });
  }

  /** The loop continues when the first sleep ends. Sleeping keys are forgotten when they leave no place for others. */
  function listAwake(): KnownKey<K>[] {
    const isFull = known.size >= MAX_KNOWN_KEYS;
    const awake: KnownKey<K>[] = [];
    let firstEnd = Number.POSITIVE_INFINITY;
    for (const [id, entry] of known) {
      const sleep = queue.sleepOf(entry.key);
      if (sleep === 0) awake.push(entry);
      else if (isFull) known.delete(id);
      else firstEnd = Math.min(firstEnd, sleep);
    }
    clearTimeout(sleepTimer);
    if (Number.isFinite(firstEnd)) sleepTimer = setTimeout(reason.set, firstEnd);
    return awake;
  }

  async function claimAndStart(chosen: readonly ChosenKey<K>[]): Promise<void> {
    reserved = chosen.reduce((sum, { max }) => sum + max, 0);
    const requests = queue.admit ? await admit(chosen, queue.admit) : chosen;
    reserved = requests.reduce((sum, { max }) => sum + max, 0);
    const claim = { lease: randomUUID(), claimedAt: performance.now() };
    const rows = requests.length > 0 ? await claimRows(requests, claim.lease) : [];
    reserved = 0;
    const rowsByKey = groupByKey(rows);
    const isFull = known.size >= MAX_KNOWN_KEYS;
    for (const { key, max, entry, version } of requests) {
      const id = queue.idOf(key);
      const ofKey = rowsByKey.get(id) ?? [];
      if (ofKey.length < max) queue.release(key, max - ofKey.length);
      // A key that was served gives its place to others, if there are too many; the poll finds it again.
      if (isFull || (ofKey.length < max && entry.version === version)) known.delete(id);
      if (ofKey.length === 0) continue;
      parts.onClaimed(entry.finder, ofKey.length);
      const dueTimes = ofKey.flatMap((row) => queue.dueAtOf(row)?.getTime() ?? []);
      if (dueTimes.length === 0) continue;
      const next = new Date(Math.max(...dueTimes) - LATE_COMMIT_MS);
      entry.after = next;
      lastDue.set(id, next);
    }
    if (rows.length > 0) queue.start(rows, claim);
    if (known.size > 0 && queue.freeSlots() > 0) reason.set();
  }

  /** A key that is not admitted stays known: it sleeps until it may start. */
  async function admit(
    chosen: readonly ChosenKey<K>[],
    ask: NonNullable<ClaimQueue<K, R>["admit"]>,
  ): Promise<ChosenKey<K>[]> {
    const counts = await ask(chosen);
    return chosen.flatMap((request, index) => {
      const max = counts[index] ?? 0;
      if (max < request.max) queue.release(request.key, request.max - max);
      return max > 0 ? [{ ...request, max }] : [];
    });
  }

  function groupByKey(rows: readonly R[]): Map<string, R[]> {
    const rowsByKey = new Map<string, R[]>();
    for (const row of rows) {
      const id = queue.idOf(queue.keyOf(row));
      const ofKey = rowsByKey.get(id);
      if (ofKey) ofKey.push(row);
      else rowsByKey.set(id, [row]);
    }
    return rowsByKey;
  }

  /** After an error the rows may be claimed: nothing else is claimed before they are released. */
  async function claimRows(requests: readonly KeyRequest<K>[], lease: string): Promise<R[]> {
    try {
      const rows = await queue.claim(requests, lease);
      outageLogger.recovered();
      return rows;
    } catch (error) {
      outageLogger.failed(error);
      await retryUntil(() => queue.releaseClaim(lease), {
        signal,
        firstDelayMs: RELEASE_RETRY_MS.first,
        maxDelayMs: RELEASE_RETRY_MS.max,
        onFault: outageLogger.failed,
      });
      // A claim that was only late may be committed after its release, or after a shutdown has begun.
      void pause(LATE_CLAIM_MS, signal)
        .then(() => queue.releaseClaim(lease))
        .catch(() => {});
      return [];
    }
  }

  /** Each poll continues where the last one ended, if that did not return all keys. */
  async function pollUntilStopped(): Promise<void> {
    let last: K | undefined;
    let minPause = 0;
    let [endedAt, random] = [performance.now(), Math.random()];
    while (!signal.aborted) {
      await pause(POLL_CHECK_MS, signal);
      const began = performance.now();
      if (signal.aborted || began < endedAt + Math.max(minPause, pollInterval(random))) continue;
      if (!mayClaim() || queue.freeSlots() + reserved === 0) continue;
      try {
        const keys = await queue.poll(last, MAX_KNOWN_KEYS);
        last = keys.length < MAX_KNOWN_KEYS ? undefined : keys.at(-1)?.key;
        learn(keys, "poll");
        outageLogger.recovered();
        minPause = Math.min(POLL_PAUSE_FACTOR * (performance.now() - began), MAX_POLL_PAUSE_MS);
      } catch (error) {
        outageLogger.failed(error);
        minPause = 0;
      }
      [endedAt, random] = [performance.now(), Math.random()];
    }
  }

  function pollInterval(random: number): number {
    if (known.size === 0 && performance.now() - fullAt < RECENTLY_FULL_MS) return POLL_INTERVAL_AFTER_FULL_MS;
    const { min, max } = parts.hasWakeUps() ? POLL_INTERVAL_MS : POLL_INTERVAL_WITHOUT_WAKE_UPS_MS;
    return min + random * (max - min);
  }

  const worker: Worker = {
    name: "claim-loop",
    start() {
      running = Promise.all([run(), pollUntilStopped()]);
    },
    /** Resolves when no claim is running: rows that are claimed have been started. */
    async close() {
      stopping.abort();
      for (const flag of [reason, freedSlots]) flag.set();
      for (const timer of [gatherTimer, sleepTimer]) clearTimeout(timer);
      await running;
    },
  };
  return {
    ...worker,
    /** The keys may have rows that are due. */
    wake: (keys: readonly K[]): void =>
      learn(
        keys.map((key) => ({ key, after: null })),
        "wake_up",
      ),
    /** The keys have rows that were due before this time, such as sends that waited behind another one. */
    wakeSince: (found: readonly { key: K; after: Date }[]): void => learn(found, "wake_up"),
    /** Called when a slot was released. */
    onSlotFree(): void {
      freedSlots.set();
      gatherTimer ??= setTimeout(() => {
        gatherTimer = undefined;
        reason.set();
      }, GATHER_MS);
    },
    /** Waits until slots are free, or reserved by the claim that is running; returns how many. 0 when the loop is closed. */
    async waitForSlots(): Promise<number> {
      while (queue.freeSlots() + reserved === 0 && !signal.aborted) await freedSlots.wait();
      return signal.aborted ? 0 : queue.freeSlots() + reserved;
    },
  };
}

const earlierOf = (one: Date | null, other: Date | null): Date | null =>
  one && other ? (one < other ? one : other) : (one ?? other);

/** `set` ends all waits, or the next one when there is none. */
function createFlag() {
  const waiters: (() => void)[] = [];
  let isSet = false;
  return {
    set(): void {
      isSet = waiters.length === 0;
      for (const end of waiters.splice(0)) end();
    },
    async wait(): Promise<void> {
      if (!isSet) await new Promise<void>((resolve) => waiters.push(resolve));
      isSet = false;
    },
  };
}
