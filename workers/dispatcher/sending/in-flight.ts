import { randomUUID } from "node:crypto";
import { setMaxListeners } from "node:events";
import { MAX_SLOT_WAIT_MS, type SendRateLimiter } from "../../../src/queue/send-rate.ts";
import { createBatcher } from "../../../src/runtime/async/batcher.ts";
import { pause } from "../../../src/runtime/async/pause.ts";
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
import type { MessageOutcome } from "./outcomes.ts";
import { type PlannedSend, planSends } from "./plan-sends.ts";
import type { FinishedSend } from "./write-sends.ts";

/**
 * A send waits for its rate slot, is claimed, and is sent; it holds a concurrency slot all the time. `dispatch` starts the
 * sends whose rate slot comes soon and returns the others to their rows. `run` moves a send on: wait, claim, send, record.
 * The slots come before the claim, so that a claimed send goes out immediately. `stop` returns waiting sends to their rows;
 * claimed ones are awaited, never aborted.
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
  rateLimiter: SendRateLimiter;
  batchWriter: BatchWriter<FinishedSend>;
  tracker: WorkTracker;
  /** Undefined when the lease was lost and another worker decides the outcome. */
  send(row: ClaimedSend, lease: string, unit: UnitOfWork): Promise<MessageOutcome | undefined>;
  record(row: ClaimedSend, result: MessageOutcome, ms: number): void;
}

const MAX_BATCH_ROWS = 100;
const LANE: SendLane = "outbound";

export type InFlightSends = ReturnType<typeof createInFlightSends>;

export function createInFlightSends(parts: SendsParts) {
  const { db, log, limiter, rateLimiter, batchWriter } = parts;
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

  async function dispatch(refs: readonly SendRef[]): Promise<true> {
    const notStarted: SendRef[] = [];
    for (const planned of await planSends(rateLimiter, refs))
      if (canStart(planned)) start(planned);
      else notStarted.push(planned);
    // When this write fails, the sweep re-queues the sends, because they stay queued and unclaimed.
    if (notStarted.length > 0) await unmarkQueuedSends(db, notStarted).catch(() => {});
    return true;
  }

  const canStart = ({ wait, channelId }: PlannedSend): boolean =>
    wait <= MAX_SLOT_WAIT_MS && !stopping.signal.aborted && limiter.acquire(LANE, channelId);

  function start(planned: PlannedSend): void {
    const work = run(planned).finally(() => {
      limiter.release(LANE, planned.channelId);
      running.delete(work);
    });
    running.add(work);
  }

  async function run({ wait, ...ref }: PlannedSend): Promise<void> {
    if (wait > 0) await pause(wait, stopping.signal);
    if (stopping.signal.aborted) return unmarks.add(ref).catch(() => {});
    const claimed = await claims(ref);
    if (claimed?.row) await attempt(claimed.row, claimed.lease);
  }

  async function attempt(row: ClaimedSend, lease: string): Promise<void> {
    const unit = parts.tracker.begin(`message ${row.id} client ${row.client_id}`);
    await sendAndRecord(row, lease, unit).finally(() => unit.end());
  }

  async function sendAndRecord(row: ClaimedSend, lease: string, unit: UnitOfWork): Promise<void> {
    const began = performance.now();
    const result = await parts.send(row, lease, unit);
    const { client_id, id } = row;
    if (!result) return log.warn("message.lease_lost", { client: client_id, message_id: id });
    parts.record(row, result, Math.round(performance.now() - began));
    await batchWriter.finish({ client_id, id, lease, ...result.finish, events: result.events });
  }

  const inFlight: InFlight = {
    count: () => running.size,
    stop: () => stopping.abort(),
    async drain() {
      while (running.size > 0) await Promise.all(running);
    },
    // Open requests are awaited: the outcome of an aborted one would be unknown.
    abort: () => {},
    abandonWrites: () => batchWriter.abandon(),
  };
  return {
    dispatch,
    waitForFreeSlots: () => limiter.waitForFreeSlots(LANE),
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
