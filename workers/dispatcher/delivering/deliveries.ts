import { randomUUID } from "node:crypto";
import { setMaxListeners } from "node:events";
import { MAX_START_DELAY_MS, WORKER_DEAD_AFTER_MS } from "../../../src/runtime/deadlines.ts";
import type { Log } from "../../../src/runtime/logging/log.ts";
import type { WorkTracker } from "../../../src/runtime/watchdog/work-tracker.ts";
import type { Database } from "../../../src/store/database/database.ts";
import {
  type ClaimedDelivery,
  claimDeliveries,
  claimSuspect,
  type DeliveryKey,
  pollDeliveries,
  releaseClaim,
} from "../../../src/store/events/claim-deliveries.ts";
import type { DeliveryFinish } from "../../../src/store/events/finish-deliveries.ts";
import { type QuarantinedDelivery, recoverDeliveries } from "../../../src/store/events/recover-deliveries.ts";
import { lockRecovery } from "../../../src/store/processes/recovery-lock.ts";
import { LEASE_LIMITS } from "../../../src/store/processes/workers.ts";
import type { BatchWriter } from "../batch-writer.ts";
import type { Claim, ClaimQueue } from "../claim-loop.ts";
import type { ConcurrencyLimiter } from "../concurrency-limiter.ts";
import { type EventLane, laneOf } from "../lanes.ts";
import type { InFlight } from "../lifecycle.ts";
import type { AttemptControl } from "./deliver-event.ts";
import { type DeliveryOutcome, postponed } from "./outcomes.ts";
import { createStartPacer } from "./start-pacer.ts";

/**
 * The life of a delivery. Its row in delivery_queue is
 * waiting: from the insertion with its event on, or again after an attempt that is retried. Due when due_at has passed.
 * claimed: the claim loop has given it to this dispatcher, with a lease and a slot. `start` starts claimed rows in turn.
 * in flight: `attempt` makes the call. The slot is free when the call ends; the outcome is then unwritten.
 * deleted, or waiting again: the batch writer has written the outcome.
 * A claimed row is waiting again without an attempt when the process stops, the queue is held, or its start comes too late,
 * and so is one whose call a shutdown aborts. `recoverQueue` makes a row of a dead dispatcher wait again. A suspect, whose
 * dispatchers died repeatedly, holds no slot: `deliverSuspects` claims and finishes one at a time.
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
    const unit = tracker.begin(`delivery ${row.id} client ${row.client_id}`);
    try {
      const call = parts.deliver(row, { signal: aborting.signal, unit });
      const result = await pacer.track(call).finally(onCallEnd);
      unit.resume();
      parts.record(row, result);
      await batchWriter.finish(toFinish(row, lease, result));
    } finally {
      unit.end();
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
      const keys = await pollDeliveries(db, last, limit);
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
    async deliverSuspects(): Promise<void> {
      do await batchWriter.waitForDrain();
      while (!isStopped() && parts.mayClaim() && (await track(deliverSuspect())));
    },
  };
}

function toFinish(row: ClaimedDelivery, lease: string, result: DeliveryOutcome): DeliveryFinish {
  const { client_id, id, attempts, schedule_base } = row;
  const { outcome, fault, ...columns } = result;
  return { client_id, id, lease, attempts, schedule_base, ...columns };
}

interface RecoveryParts {
  db: Database;
  log: Log;
  /** Milliseconds for which this worker's heartbeats have had no gap. */
  aliveForMs(): number;
  /** Called for each delivery that failed because its dispatchers died. */
  onQuarantined(delivery: QuarantinedDelivery): void;
}

/** Makes the rows of dead dispatchers wait again, or fails them. One dispatcher does it at a time. */
export async function recoverQueue({ db, log, aliveForMs, onQuarantined }: RecoveryParts): Promise<void> {
  // After a database outage every worker looks dead: one with a gap itself first waits for the others' heartbeats.
  if (aliveForMs() < WORKER_DEAD_AFTER_MS) return;
  const recovered = await db.transaction(async (tx) =>
    (await lockRecovery(tx, "deliveries")) ? recoverDeliveries(tx, LEASE_LIMITS) : undefined,
  );
  if (!recovered) return;
  const { released, quarantined } = recovered;
  quarantined.forEach(onQuarantined);
  if (released + quarantined.length > 0)
    log.warn("recovery.reclaimed", { released, quarantined: quarantined.length });
}
