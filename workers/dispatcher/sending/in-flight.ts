import { randomUUID } from "node:crypto";
import { setMaxListeners } from "node:events";
import type { ChannelQueues } from "../../../src/queue/channel-queues.ts";
import type { QueueHold } from "../../../src/queue/queue-hold.ts";
import { createBatcher } from "../../../src/runtime/async/batcher.ts";
import { pause } from "../../../src/runtime/async/pause.ts";
import { SECOND } from "../../../src/runtime/durations.ts";
import type { Log } from "../../../src/runtime/logging/log.ts";
import { createOutageLogger } from "../../../src/runtime/logging/outage-logger.ts";
import type { UnitOfWork, WorkTracker } from "../../../src/runtime/watchdog/work-tracker.ts";
import type { Database } from "../../../src/store/database/database.ts";
import {
  type ClaimedSend,
  claimSends,
  type SendRef,
  unmarkQueuedSends,
} from "../../../src/store/messages/claim-sends.ts";
import type { BatchWriter } from "../batch-writer.ts";
import type { ConcurrencyLimiter } from "../concurrency-limiter.ts";
import type { SendLane } from "../lanes.ts";
import type { InFlight } from "../stream-consumer.ts";
import { createChannelPacer, type PacedSend } from "./channel-pacer.ts";
import { hasConnection, type MessageOutcome } from "./outcomes.ts";
import type { PlatformAvailability } from "./platform-availability.ts";
import type { FinishedSend } from "./write-sends.ts";

/**
 * A send is queued in its channel's queue; the pacer takes it out when it has a concurrency slot and a rate slot. It is
 * then claimed and sent, and holds the concurrency slot until its call ends; the batch writer limits the unwritten
 * outcomes. `dispatch` queues sends and returns those that do not fit to their rows. `run` moves a send on: wait for its
 * rate slot, claim, send, record. The slots come before the claim, so that a claimed send goes out immediately. `stop`
 * returns waiting sends to their rows; claimed ones are awaited, never aborted.
 */

interface SendsParts {
  /** This dispatcher's id in the rows. */
  worker: string;
  db: Database;
  log: Log;
  /** True while this dispatcher's heartbeats are recorded; without them, others take its claims for expired. */
  isAlive(): boolean;
  /** Keyed by channel. */
  limiter: ConcurrencyLimiter<SendLane>;
  queues: ChannelQueues;
  availability: PlatformAvailability;
  hold: Pick<QueueHold, "isHeld">;
  batchWriter: BatchWriter<FinishedSend>;
  tracker: WorkTracker;
  /** Undefined when the lease was lost and another worker decides the outcome. */
  send(row: ClaimedSend, lease: string, unit: UnitOfWork): Promise<MessageOutcome | undefined>;
  record(row: ClaimedSend, result: MessageOutcome, ms: number): void;
}

const MAX_BATCH_ROWS = 100;
const LANE: SendLane = "outbound";
/** Entries that are read at a time: those that cannot start wait in the queues of their channels. */
const MAX_READ_ENTRIES = 200;
/** A send that cannot be queued, because Redis is unavailable, is due again after this time. */
const REDIS_RETRY_MS = 1 * SECOND;

export type InFlightSends = ReturnType<typeof createInFlightSends>;

export function createInFlightSends(parts: SendsParts) {
  const { db, log, limiter, queues, availability, batchWriter } = parts;
  const stopping = new AbortController();
  setMaxListeners(0, stopping.signal); // one listener per waiting send, which is no leak
  const running = new Set<Promise<void>>();
  const claims = createClaims(parts);
  const unmarks = createBatcher<SendRef, void>({
    maxItems: MAX_BATCH_ROWS,
    async run(refs) {
      await unmarkQueuedSends(db, refs);
      return () => {};
    },
  });

  const pacer = createChannelPacer({
    queues,
    acquire(channelId) {
      if (stopping.signal.aborted || parts.hold.isHeld() || !availability.acquire(channelId)) return false;
      if (limiter.acquire(LANE, channelId)) return true;
      availability.release(channelId);
      return false;
    },
    release,
    freeSlots: () => limiter.freeSlotsIn(LANE),
    start,
  });

  function release(channelId: string): void {
    limiter.release(LANE, channelId);
    availability.release(channelId);
  }

  async function dispatch(refs: readonly SendRef[]): Promise<true> {
    const retryAt = Date.now() + REDIS_RETRY_MS;
    const left = await queues.add(refs).catch(() => refs.map((ref) => ({ ...ref, slotAt: retryAt })));
    pacer.watch(refs);
    // When this write fails, the sweep re-queues the sends, because they stay queued and unclaimed.
    if (left.length > 0) await unmarkQueuedSends(db, left).catch(() => {});
    return true;
  }

  /** Takes sends that other dispatchers have queued, because they may be dead or have no free slots. */
  async function checkQueues(): Promise<void> {
    pacer.watch(await queues.channels());
  }

  function start(send: PacedSend): void {
    const work = run(send).finally(() => running.delete(work));
    running.add(work);
  }

  async function run(send: PacedSend): Promise<void> {
    const onCallEnd = () => {
      release(send.channelId);
      pacer.wake();
    };
    const claimed = await waitAndClaim(send);
    if (claimed?.row) await attempt(claimed.row, claimed.lease, onCallEnd);
    else onCallEnd();
  }

  async function waitAndClaim({ wait, ...ref }: PacedSend) {
    if (wait > 0) await pause(wait, stopping.signal);
    await batchWriter.waitForDrain();
    if (!stopping.signal.aborted) return claims(ref);
    await unmarks.add({ ...ref, slotAt: Date.now() }).catch(() => {});
    return undefined;
  }

  async function attempt(row: ClaimedSend, lease: string, onCallEnd: () => void): Promise<void> {
    const unit = parts.tracker.begin(`message ${row.id} client ${row.client_id}`);
    try {
      const began = performance.now();
      const result = await parts.send(row, lease, unit).finally(onCallEnd);
      if (result) await record(row, lease, result, Math.round(performance.now() - began));
      else log.warn("message.lease_lost", { client: row.client_id, message_id: row.id });
    } finally {
      unit.end();
    }
  }

  async function record(row: ClaimedSend, lease: string, result: MessageOutcome, ms: number): Promise<void> {
    const { client_id, id } = row;
    const isReachable = hasConnection(result);
    if (isReachable !== undefined) availability.record(row, isReachable);
    parts.record(row, result, ms);
    await batchWriter.finish({ client_id, id, lease, ...result.finish, events: result.events });
  }

  const inFlight: InFlight = {
    count: () => running.size,
    stop: () => stopping.abort(),
    async drain() {
      await pacer.close();
      while (running.size > 0) await Promise.all(running);
    },
    // Open requests are awaited: the outcome of an aborted one would be unknown.
    abort: () => {},
    abandonWrites: () => batchWriter.abandon(),
  };
  return {
    dispatch,
    checkQueues,
    waitForFreeSlots: async () => Math.max(MAX_READ_ENTRIES, await limiter.waitForFreeSlots(LANE)),
    freeSlots: () => limiter.freeSlotsIn(LANE),
    ...inFlight,
  };
}

/** Claims sends in shared statements; undefined while the database is unavailable: the sweep re-queues them. */
function createClaims({ db, worker, log, isAlive }: SendsParts) {
  const outageLogger = createOutageLogger(log, {
    unavailable: "send_claims.failed",
    recovered: "send_claims.recovered",
  });
  const batcher = createBatcher<SendRef, { row: ClaimedSend | undefined; lease: string }>({
    maxItems: MAX_BATCH_ROWS,
    async run(refs) {
      if (!isAlive()) throw new Error("this worker has no recent heartbeat");
      const lease = randomUUID();
      const claimed = await claimSends(db, refs, { token: lease, worker });
      const rows = new Map(claimed.map((row) => [row.id, row]));
      return ({ id }) => ({ row: rows.get(id), lease });
    },
  });
  return (ref: SendRef) =>
    batcher.add(ref).then((found) => {
      outageLogger.recovered();
      return found;
    }, outageLogger.failed);
}
