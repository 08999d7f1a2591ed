import { randomUUID } from "node:crypto";
import { setMaxListeners } from "node:events";
import type { Parking } from "../../../src/queue/parking.ts";
import type { EventLane } from "../../../src/queue/streams.ts";
import { retryUntil } from "../../../src/runtime/async/retry-until.ts";
import { withTimeout } from "../../../src/runtime/async/with-timeout.ts";
import { SECOND } from "../../../src/runtime/durations.ts";
import type { Log } from "../../../src/runtime/logging/log.ts";
import { createOutageLogger } from "../../../src/runtime/logging/outage-logger.ts";
import type { Database } from "../../../src/store/database/database.ts";
import { type ClaimedDelivery, claimDeliveries } from "../../../src/store/events/claim-deliveries.ts";
import type { DeliveryRef } from "../../../src/store/events/delivery-refs.ts";
import type { DeliveryFinish } from "../../../src/store/events/finish-deliveries.ts";
import { unmarkQueued } from "../../../src/store/events/sweep-deliveries.ts";
import type { BatchWriter } from "../batch-writer.ts";
import type { ConcurrencyLimiter } from "../concurrency-limiter.ts";
import { type DeliveryOutcome, postponed } from "./outcomes.ts";

interface DeliveriesParts {
  /** This dispatcher's name in the rows. */
  worker: string;
  db: Database;
  log: Log;
  /** Whether the others can see that this dispatcher lives: what it claims otherwise they take for a dead one's. */
  isAlive(): boolean;
  limiter: ConcurrencyLimiter;
  parking: Parking;
  batchWriter: BatchWriter<DeliveryFinish>;
  deliver(row: ClaimedDelivery, signal: AbortSignal): Promise<DeliveryOutcome>;
  record(row: ClaimedDelivery, result: DeliveryOutcome): void;
}

interface Claim {
  lease: string;
  /** When it was asked for. */
  began: number;
}

/** What there is no room for in Redis comes back after so long. */
const PARKING_FULL_RETRY_MS = 5 * SECOND;

/** What was claimed longer ago is not begun any more: the others may take this dispatcher for dead. */
const MAX_START_DELAY_MS = 5 * SECOND;

/** So many calls are begun in one turn of the loop, which in between hears the answers that have come. */
const STARTS_PER_TURN = 2;

/** A turn that takes longer says that this process has more to do than it can: answers are heard late. */
const SLOW_TURN_MS = 10;
/** Then it has no more calls out than this, unless none of them ends for a while. */
const MAX_CALLS_WHEN_BUSY = 8;
const BUSY_WAIT_MS = 20;

/** Answers how many milliseconds it took. */
async function yieldToEventLoop(): Promise<number> {
  const began = performance.now();
  await new Promise<void>((resolve) => setImmediate(resolve));
  return performance.now() - began;
}

export type InFlightDeliveries = ReturnType<typeof createInFlightDeliveries>;

/** What this dispatcher has in hand: takes up what is due as far as there are slots, and sets the rest aside. */
export function createInFlightDeliveries({
  worker,
  db,
  log,
  limiter,
  parking,
  batchWriter,
  ...parts
}: DeliveriesParts) {
  const stopping = new AbortController();
  const aborting = new AbortController();
  setMaxListeners(0, stopping.signal, aborting.signal); // one for each call, which Node would take for a leak
  const running = new Set<Promise<void>>();
  const openCalls = new Set<Promise<unknown>>();
  const unparking = new Map<string, Promise<void>>();
  const parkedClients: Record<EventLane, Set<string>> = { events: new Set(), bulk: new Set() };
  const outageLogger = createOutageLogger(log, {
    unavailable: "delivery_claims.failed",
    recovered: "delivery_claims.recovered",
  });
  /** Undefined where it was given up, because the process ends. */
  const retryUntilStopped = async <T>(work: () => Promise<T>): Promise<T | undefined> => {
    const retryOptions = {
      signal: stopping.signal,
      firstDelayMs: 200,
      maxDelayMs: 5 * SECOND,
      onFault: outageLogger.failed,
    };
    const done = await retryUntil(work, retryOptions);
    if (done !== undefined) outageLogger.recovered();
    return done;
  };

  /** False where it was given up, because the process ends: they are still in nobody's hand. */
  async function dispatch(lane: EventLane, refs: readonly DeliveryRef[]): Promise<boolean> {
    const admitted: DeliveryRef[] = [];
    const overLimit: DeliveryRef[] = [];
    for (const ref of distinct(refs)) (limiter.acquire(lane, ref.clientId) ? admitted : overLimit).push(ref);
    const [isClaimed, isParked] = await Promise.all([
      claimAndStart(lane, admitted),
      parkOrPostpone(lane, overLimit),
    ]);
    return isClaimed && isParked;
  }

  async function claimAndStart(lane: EventLane, refs: readonly DeliveryRef[]): Promise<boolean> {
    if (refs.length === 0) return true;
    const lease = { token: randomUUID(), worker };
    const began = performance.now();
    const rows = await retryUntilStopped(() => {
      if (!parts.isAlive()) throw new Error("no heartbeat");
      return claimDeliveries(db, refs, lease);
    });
    const claimed = new Set(rows?.map(({ id }) => id));
    for (const { clientId, id } of refs) if (!claimed.has(id)) limiter.release(lane, clientId);
    await track(start(lane, rows ?? [], { lease: lease.token, began }));
    return rows !== undefined;
  }

  /** One after the other: the fewer are told and not written down yet, the fewer are told twice after a crash. */
  async function start(
    lane: EventLane,
    rows: readonly ClaimedDelivery[],
    { lease, began }: Claim,
  ): Promise<void> {
    for (const [index, row] of rows.entries()) {
      if (
        index % STARTS_PER_TURN === STARTS_PER_TURN - 1 &&
        (await yieldToEventLoop()) > SLOW_TURN_MS &&
        openCalls.size > MAX_CALLS_WHEN_BUSY
      )
        await withTimeout(BUSY_WAIT_MS, Promise.race(openCalls), () => {});
      await batchWriter.waitForDrain();
      const shouldRelease = stopping.signal.aborted || performance.now() - began > MAX_START_DELAY_MS;
      run(lane, row, shouldRelease ? releaseClaim(row, lease) : attempt(row, lease));
    }
  }

  function run(lane: EventLane, row: ClaimedDelivery, work: Promise<void>): void {
    const onEnd = () => {
      limiter.release(lane, row.client_id);
      if (parkedClients[lane].has(row.client_id)) void unpark(lane, row.client_id);
    };
    void track(work.finally(onEnd));
  }

  function track(work: Promise<void>): Promise<void> {
    running.add(work);
    return work.finally(() => running.delete(work));
  }

  async function attempt(row: ClaimedDelivery, lease: string): Promise<void> {
    const call = parts.deliver(row, aborting.signal);
    openCalls.add(call);
    const result = await call.finally(() => openCalls.delete(call));
    parts.record(row, result);
    await finish(row, lease, result);
  }

  /** Due at once, for whoever comes first. */
  const releaseClaim = (row: ClaimedDelivery, lease: string): Promise<void> =>
    finish(row, lease, postponed(row, 0));

  function finish(
    { client_id, id, schedule_base }: ClaimedDelivery,
    lease: string,
    result: DeliveryOutcome,
  ): Promise<void> {
    const { outcome, fault, ...written } = result;
    return batchWriter.finish({ client_id, id, lease, schedule_base, ...written });
  }

  async function parkOrPostpone(lane: EventLane, refs: readonly DeliveryRef[]): Promise<boolean> {
    const byClient = new Map<string, string[]>();
    for (const { clientId, id } of refs) byClient.set(clientId, [...(byClient.get(clientId) ?? []), id]);
    const rejectedRefs: DeliveryRef[] = [];
    for (const [clientId, ids] of byClient) {
      parkedClients[lane].add(clientId);
      const rejected = await parking.park(lane, clientId, ids).catch(() => ids);
      rejectedRefs.push(...rejected.map((id) => ({ clientId, id })));
    }
    if (rejectedRefs.length === 0) return true;
    const isPostponed = await retryUntilStopped(async () => {
      await unmarkQueued(db, rejectedRefs, PARKING_FULL_RETRY_MS);
      return true;
    });
    return isPostponed ?? false;
  }

  /** Takes up what waits of this client, as far as it may have slots now. */
  async function unpark(lane: EventLane, clientId: string): Promise<void> {
    const name = `${lane} ${clientId}`;
    if (!unparking.has(name) && freeSlotsFor(lane, clientId) > 0)
      unparking.set(name, refill(lane, clientId, name));
    await unparking.get(name);
  }

  /** Looks at the room again each time: of calls that end together only the first one comes as far as this. */
  async function refill(lane: EventLane, clientId: string, name: string): Promise<void> {
    let freeSlots = freeSlotsFor(lane, clientId);
    while (freeSlots > 0) {
      const ids = await parking.pop(lane, clientId, freeSlots).catch(() => []);
      if (ids.length < freeSlots) parkedClients[lane].delete(clientId);
      const refs = ids.map((id) => ({ clientId, id }));
      if (!(await dispatch(lane, refs))) await parking.park(lane, clientId, ids).catch(() => {});
      freeSlots = ids.length < freeSlots ? 0 : freeSlotsFor(lane, clientId);
    }
    unparking.delete(name); // in the same moment as the last look, or a slot that is freed in between would be missed
  }

  const freeSlotsFor = (lane: EventLane, clientId: string): number =>
    stopping.signal.aborted ? 0 : limiter.freeSlotsFor(lane, clientId);

  return {
    dispatch,
    unpark,
    /** How much is in hand. */
    count: () => running.size,
    /** From now on nothing is taken up. */
    stop: () => stopping.abort(),
    /** When everything in hand has come to its end. */
    async drain(): Promise<void> {
      while (running.size + unparking.size > 0) await Promise.all([...running, ...unparking.values()]);
    },
    /** Gives up what is still out; none of it counts as an attempt. */
    abort: () => aborting.abort(),
    /** Gives up writing down how it ended: the others will find it in the hands of a dead one. */
    abandonWrites: () => batchWriter.abandon(),
  };
}

/** The queue may name one twice. */
const distinct = (refs: readonly DeliveryRef[]): DeliveryRef[] => [
  ...new Map(refs.map(({ clientId, id }) => [id, { clientId, id }])).values(),
];
