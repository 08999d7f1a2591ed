import { randomUUID } from "node:crypto";
import { setMaxListeners } from "node:events";
import type { Parking } from "../../../src/queue/parking.ts";
import type { QueueHold } from "../../../src/queue/queue-hold.ts";
import type { EventLane } from "../../../src/queue/streams.ts";
import { retryUntil } from "../../../src/runtime/async/retry-until.ts";
import { SECOND } from "../../../src/runtime/durations.ts";
import type { Log } from "../../../src/runtime/logging/log.ts";
import { createOutageLogger } from "../../../src/runtime/logging/outage-logger.ts";
import type { Database } from "../../../src/store/database/database.ts";
import { type ClaimedDelivery, claimDeliveries } from "../../../src/store/events/claim-deliveries.ts";
import type { DeliveryRef } from "../../../src/store/events/delivery-refs.ts";
import { unmarkQueued } from "../../../src/store/events/sweep-deliveries.ts";
import type { ConcurrencyLimiter } from "../concurrency-limiter.ts";
import type { InFlight } from "../stream-consumer.ts";
import { attemptClaimed, type Claim, type ClaimedAttemptParts } from "./attempt-claimed.ts";
import { createParkedDeliveries } from "./parked-deliveries.ts";
import { createStartPacer } from "./start-pacer.ts";
import { createSuspects } from "./suspects.ts";

/**
 * A delivery is parked, because its client used its share of slots, or it holds a slot from its claim until its call ends.
 * `dispatch` parks or claims it, `start` starts claimed rows in turn, `attemptClaimed` makes the call, releases the slot,
 * whereupon the client's next delivery is unparked, and writes the outcome. After `stop`, a row that has not started is due again
 * without an attempt; likewise while the queue is held. `abort` aborts open requests, which do not count either. A
 * suspect holds no slot: `deliverSuspects` claims and finishes one at a time.
 */

interface DeliveriesParts
  extends Pick<ClaimedAttemptParts, "batchWriter" | "tracker" | "deliver" | "record"> {
  /** This dispatcher's id in the rows. */
  worker: string;
  db: Database;
  log: Log;
  /** True while this dispatcher's heartbeats are recorded; without them, others take its claims for expired. */
  isAlive(): boolean;
  limiter: ConcurrencyLimiter<EventLane>;
  parking: Parking;
  hold: Pick<QueueHold, "isHeld" | "check">;
}

type LaneClaim = Claim & { lane: EventLane };

export type InFlightDeliveries = ReturnType<typeof createInFlightDeliveries>;

export function createInFlightDeliveries(parts: DeliveriesParts) {
  const { worker, db, log, limiter, batchWriter, hold } = parts;
  const [stopping, aborting] = [new AbortController(), new AbortController()];
  setMaxListeners(0, stopping.signal, aborting.signal); // one listener per call, which is no leak
  const running = new Set<Promise<void>>();
  const pacer = createStartPacer();
  const isStopped = () => stopping.signal.aborted || hold.isHeld();
  const attemptParts = { ...parts, pacer, isStopped, aborting: aborting.signal };
  const retry = createRetry(log, stopping.signal);
  const parked = createParkedDeliveries({
    ...parts,
    dispatch,
    retry,
    freeSlotsIn: (lane) => (isStopped() ? 0 : limiter.freeSlotsIn(lane)),
    freeSlotsFor: limiter.freeSlotsFor,
  });

  /** False when the process stops before all of them are claimed or parked. */
  async function dispatch(lane: EventLane, refs: readonly DeliveryRef[]): Promise<boolean> {
    const [admitted, overLimit]: [DeliveryRef[], DeliveryRef[]] = [[], []];
    for (const ref of distinct(refs)) (limiter.acquire(lane, ref.clientId) ? admitted : overLimit).push(ref);
    const outcomes = await Promise.all([claimAndStart(lane, admitted), parked.park(lane, overLimit)]);
    return outcomes.every(Boolean);
  }

  async function claimAndStart(lane: EventLane, refs: readonly DeliveryRef[]): Promise<boolean> {
    if (refs.length === 0) return true;
    const claim = { lane, lease: randomUUID(), claimedAt: performance.now() };
    const rows = await retry(() => {
      if (!parts.isAlive()) throw new Error("this worker has no recent heartbeat");
      return claimDeliveries(db, refs, { token: claim.lease, worker });
    });
    const claimed = new Set(rows?.map(({ id }) => id));
    const unclaimed = refs.filter(({ id }) => !claimed.has(id));
    for (const { clientId } of unclaimed) limiter.release(lane, clientId);
    // Not awaited: hostile answers make starts slow, and the events of other clients must not wait behind them.
    void track(start(rows ?? [], claim));
    return rows !== undefined && (await unmarkHeld(unclaimed));
  }

  /** Without a mark the sweep queues them at once when the hold ends; others were claimed before or are done. */
  async function unmarkHeld(refs: readonly DeliveryRef[]): Promise<boolean> {
    if (refs.length === 0) return true;
    const unmarked = await retry(async () => {
      if (await hold.check()) await unmarkQueued(db, refs);
      return true;
    });
    return unmarked ?? false;
  }

  /** Starts the rows one by one: after a crash, deliveries whose outcome is not written yet are repeated. */
  async function start(rows: readonly ClaimedDelivery[], claim: LaneClaim): Promise<void> {
    for (const [index, row] of rows.entries()) {
      const turn = pacer.waitForTurn(index);
      if (turn) await turn;
      await batchWriter.waitForDrain();
      run(row, claim);
    }
  }

  function run(row: ClaimedDelivery, claim: LaneClaim): void {
    const [{ client_id: clientId }, { lane }] = [row, claim];
    const onCallEnd = () => {
      limiter.release(lane, clientId);
      if (parked.has(lane, clientId)) void parked.unpark(lane, clientId);
    };
    void track(attemptClaimed(attemptParts, row, claim, onCallEnd));
  }

  function track(work: Promise<void>): Promise<void> {
    running.add(work);
    return work.finally(() => running.delete(work));
  }

  const suspects = createSuspects({
    worker,
    db,
    canClaim: () => parts.isAlive() && !isStopped(),
    waitForDrain: batchWriter.waitForDrain,
    deliver: (row, claim) => track(attemptClaimed(attemptParts, row, claim, () => {})),
  });

  const inFlight: InFlight = {
    count: () => running.size,
    stop: () => stopping.abort(),
    async drain() {
      const allRunning = () => [...running, ...parked.running(), ...suspects.running()];
      while (allRunning().length > 0) await Promise.all(allRunning());
    },
    abort: () => aborting.abort(),
    abandonWrites: () => batchWriter.abandon(),
  };
  return { dispatch, unpark: parked.unpark, deliverSuspects: suspects.deliverDue, ...inFlight };
}

/** Retries a statement until it succeeds; undefined when the process stops first. */
function createRetry(log: Log, signal: AbortSignal) {
  const outageLogger = createOutageLogger(log, {
    unavailable: "delivery_claims.failed",
    recovered: "delivery_claims.recovered",
  });
  const options = { signal, firstDelayMs: 200, maxDelayMs: 5 * SECOND, onFault: outageLogger.failed };
  return async <T>(work: () => Promise<T>): Promise<T | undefined> => {
    const done = await retryUntil(work, options);
    if (done !== undefined) outageLogger.recovered();
    return done;
  };
}

/** Drops duplicates, because a stream may name a delivery twice. */
const distinct = (refs: readonly DeliveryRef[]): DeliveryRef[] => [
  ...new Map(refs.map(({ clientId, id }) => [id, { clientId, id }])).values(),
];
