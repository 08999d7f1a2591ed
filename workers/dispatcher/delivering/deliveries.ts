import { randomUUID } from "node:crypto";
import { setMaxListeners } from "node:events";
import { withTimeout } from "../../../src/runtime/async/timeouts-and-retries.ts";
import { MAX_START_DELAY_MS, WORKER_DEAD_AFTER_MS } from "../../../src/runtime/deadlines.ts";
import type { Log } from "../../../src/runtime/log.ts";
import type { WorkTracker } from "../../../src/runtime/watchdog.ts";
import type { Database } from "../../../src/store/database/database.ts";
import {
  type ClaimedDelivery,
  claimDeliveries,
  claimSuspect,
  createDeliveryPoll,
  type DeliveryKey,
  releaseClaim,
} from "../../../src/store/events/claim-deliveries.ts";
import type { DeliveryFinish } from "../../../src/store/events/finish-deliveries.ts";
import {
  createLostDeliveryFinder,
  type QuarantinedDelivery,
  recoverDeliveries,
} from "../../../src/store/events/recover-deliveries.ts";
import { LEASE_LIMITS, lockRecovery } from "../../../src/store/processes/workers.ts";
import type { BatchWriter } from "../batch-writer.ts";
import type { Claim, ClaimQueue } from "../claim-loop.ts";
import { type ConcurrencyLimiter, type EventLane, laneOf } from "../concurrency-limiter.ts";
import type { InFlight } from "../lifecycle.ts";
import type { AttemptControl } from "./deliver-event.ts";
import { type DeliveryOutcome, postponed } from "./outcomes.ts";

/**
 * The life of a delivery: the states of its row in delivery_queue, and who moves it on.
 * waiting: due when due_at has passed; from the insertion with its event on, or for a retry. The claim loop claims it.
 * claimed: this dispatcher has it, with a lease and a slot. `start` begins claimed rows in turn.
 * in flight: `attempt` makes the call (deliver-event.ts). The end of the call frees the slot.
 * unwritten: the outcome is decided (outcomes.ts). The batch writer deletes the row, or makes it wait for a retry.
 * suspect: it waits, and its dispatchers died repeatedly. `deliverSuspects` claims and finishes one at a time, without a slot.
 * A claimed row waits again without an attempt when the process stops, the queue is held, or its start comes too late, and
 * so does one whose call a shutdown aborts. The recovery makes the rows of a dead dispatcher wait again.
 */

interface DeliveriesParts {
  /** This dispatcher's id in the rows. */
  worker: string;
  db: Database;
  limiter: ConcurrencyLimiter<EventLane>;
  /** Milliseconds until calls for the client may start. */
  sleepOf(clientId: string): number;
  /** Clients for which no call may start now. */
  sleepingClients(): string[];
  /** False while nothing may be claimed: the queue is held, or this dispatcher's heartbeats are not recorded. */
  mayClaim(): boolean;
  isHeld(): boolean;
  /** Called when a slot was released. */
  onSlotFree(): void;
  batchWriter: BatchWriter<DeliveryFinish>;
  tracker: WorkTracker;
  deliver(row: ClaimedDelivery, control: AttemptControl): Promise<DeliveryOutcome>;
  record(row: ClaimedDelivery, result: DeliveryOutcome): void;
}

export function createDeliveries(parts: DeliveriesParts) {
  const { worker, db, limiter, batchWriter, tracker } = parts;
  const [stopping, aborting] = [new AbortController(), new AbortController()];
  setMaxListeners(0, aborting.signal); // one listener per call, which is no leak
  const running = new Set<Promise<void>>();
  const pacer = createStartPacer();
  const pollDeliveries = createDeliveryPoll(db);
  const isStopped = () => stopping.signal.aborted || parts.isHeld();

  /** Starts the rows one by one: after a crash, deliveries whose outcome is not written yet are repeated. */
  async function start(rows: readonly ClaimedDelivery[], claim: Claim): Promise<void> {
    for (const [index, row] of rows.entries()) {
      const turn = pacer.waitForTurn(index);
      if (turn) await turn;
      await batchWriter.waitForDrain();
      void track(attempt(row, claim, () => freeSlot(row)));
    }
  }

  function freeSlot({ is_bulk, client_id }: ClaimedDelivery): void {
    limiter.release(laneOf(is_bulk), client_id);
    parts.onSlotFree();
  }

  /**
   * Resolves when the outcome is written or abandoned. Calls `onCallEnd` before the outcome is written, because the batch
   * writer limits the unwritten outcomes.
   */
  async function attempt(
    row: ClaimedDelivery,
    { lease, claimedAt }: Claim,
    onCallEnd: () => void,
  ): Promise<void> {
    const isLate = performance.now() - claimedAt > MAX_START_DELAY_MS;
    if (isLate || isStopped()) {
      onCallEnd();
      return batchWriter.finish(toFinish(row, lease, postponed(row, 0)));
    }
    const tracked = tracker.begin(`delivery ${row.id} client ${row.client_id}`);
    try {
      const call = parts.deliver(row, { signal: aborting.signal, tracked });
      const result = await pacer.track(call).finally(onCallEnd);
      tracked.resume();
      parts.record(row, result);
      await batchWriter.finish(toFinish(row, lease, result));
    } finally {
      tracked.end();
    }
  }

  function track<T>(work: Promise<T>): Promise<T> {
    const settled: Promise<void> = work.then(
      () => void running.delete(settled),
      () => void running.delete(settled),
    );
    running.add(settled);
    return work;
  }

  /** False when no suspect is due. */
  async function deliverSuspect(): Promise<boolean> {
    const claim = { lease: randomUUID(), claimedAt: performance.now() };
    const lease = { token: claim.lease, worker };
    const row = await claimSuspect(db, lease, parts.sleepingClients()).catch(async (error) => {
      await releaseClaim(db, lease); // without it, a suspect whose claim was committed waits until the lease expires
      throw error;
    });
    if (row) await attempt(row, claim, () => {});
    return row !== undefined;
  }

  const queue: ClaimQueue<DeliveryKey, ClaimedDelivery> = {
    idOf: ({ isBulk, clientId }) => `${isBulk} ${clientId}`,
    keyOf: ({ is_bulk, client_id }) => ({ isBulk: is_bulk, clientId: client_id }),
    dueAtOf: ({ due_at }) => due_at,
    freeSlots: () => limiter.freeSlots(),
    acquire: ({ isBulk, clientId }, count) => limiter.acquireUpTo(laneOf(isBulk), clientId, count),
    release: ({ isBulk, clientId }, count) => {
      for (let left = count; left > 0; left -= 1) limiter.release(laneOf(isBulk), clientId);
    },
    sleepOf: ({ clientId }) => parts.sleepOf(clientId),
    async poll(last, limit) {
      const keys = await pollDeliveries(last, limit);
      return keys.map(({ after, ...key }) => ({ key, after }));
    },
    claim: (requests, token) =>
      claimDeliveries(
        db,
        requests.map(({ key, max, after }) => ({ ...key, max, after })),
        { token, worker },
      ),
    releaseClaim: (token) => releaseClaim(db, { token, worker }),
    // Not awaited: hostile answers make starts slow, and the events of other clients must not wait behind them.
    start: (rows, claim) => void track(start(rows, claim)),
  };

  const inFlight: InFlight = {
    count: () => running.size,
    stop: () => stopping.abort(),
    async drain() {
      while (running.size > 0) await Promise.all(running);
    },
    abort: () => aborting.abort(),
    abandonWrites: () => batchWriter.abandon(),
  };
  return {
    ...inFlight,
    queue,
    /** Delivers the suspects that are due, one after the other, so that one that kills its dispatcher adds no death to another. */
    async deliverSuspects(): Promise<"skipped" | undefined> {
      if (!parts.mayClaim()) return "skipped";
      do await batchWriter.waitForDrain();
      while (!isStopped() && parts.mayClaim() && (await track(deliverSuspect())));
      return undefined;
    },
  };
}

function toFinish(row: ClaimedDelivery, lease: string, result: DeliveryOutcome): DeliveryFinish {
  const { client_id, id, attempts, schedule_base } = row;
  const { outcome, fault, ...columns } = result;
  return { client_id, id, lease, attempts, schedule_base, ...columns };
}

/** Calls that start in one turn of the event loop, which handles received answers in between. */
const STARTS_PER_TURN = 2;
/** A slower turn means that the process is overloaded and handles answers late. */
const SLOW_TURN_MS = 10;
/** With more open calls a busy process waits until one ends, at most BUSY_WAIT_MS. */
const MAX_CALLS_WHEN_BUSY = 8;
const BUSY_WAIT_MS = 20;

/**
 * Paces the starts of calls. After every STARTS_PER_TURN of a batch it yields to the event loop and times that turn.
 * When the turn was slow, the process is busy: with too many open calls, the next start waits for one to end.
 */
function createStartPacer() {
  const openCalls = new Set<Promise<unknown>>();

  async function endTurn(): Promise<void> {
    if ((await yieldToEventLoop()) > SLOW_TURN_MS && openCalls.size > MAX_CALLS_WHEN_BUSY)
      await withTimeout(BUSY_WAIT_MS, Promise.race(openCalls), () => {});
  }

  return {
    /** Resolves when the call with this index in its batch may start; undefined when it may start immediately. */
    waitForTurn: (index: number): Promise<void> | undefined =>
      index % STARTS_PER_TURN === STARTS_PER_TURN - 1 ? endTurn() : undefined,
    /** Counts a call as open until it ends. */
    track<T>(call: Promise<T>): Promise<T> {
      openCalls.add(call);
      return call.finally(() => openCalls.delete(call));
    },
  };
}

/** Returns how many milliseconds the turn took. */
async function yieldToEventLoop(): Promise<number> {
  const began = performance.now();
  await new Promise<void>((resolve) => setImmediate(resolve));
  return performance.now() - began;
}

interface RecoveryParts {
  db: Database;
  log: Log;
  /** Milliseconds for which this worker's heartbeats have had no gap. */
  aliveForMs(): number;
  /** Called for each delivery that failed because its dispatchers died. */
  onQuarantined(delivery: QuarantinedDelivery): void;
}

/** Returns the recovery, which makes the rows of dead dispatchers wait again, or fails them. One dispatcher does it at a time. */
export function createDeliveryRecovery({ db, log, aliveForMs, onQuarantined }: RecoveryParts) {
  const findLost = createLostDeliveryFinder(db);
  return async (): Promise<"skipped" | undefined> => {
    // After a database outage every worker looks dead: one with a gap itself first waits for the others' heartbeats.
    if (aliveForMs() < WORKER_DEAD_AFTER_MS) return "skipped";
    const ids = await findLost(LEASE_LIMITS);
    if (ids.length === 0) return undefined;
    const recovered = await db.transaction(async (tx) =>
      (await lockRecovery(tx, "deliveries")) ? recoverDeliveries(tx, ids, LEASE_LIMITS) : undefined,
    );
    if (!recovered) return undefined;
    const { released, quarantined } = recovered;
    quarantined.forEach(onQuarantined);
    if (released + quarantined.length > 0)
      log.warn("recovery.reclaimed", { released, quarantined: quarantined.length });
    return undefined;
  };
}
