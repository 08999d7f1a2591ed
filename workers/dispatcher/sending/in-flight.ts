import { randomUUID } from "node:crypto";
import { setMaxListeners } from "node:events";
import { MAX_SLOT_WAIT_MS, type SendRateLimiter } from "../../../src/queue/send-rate.ts";
import { createBatcher } from "../../../src/runtime/async/batcher.ts";
import { pause } from "../../../src/runtime/async/pause.ts";
import type { Log } from "../../../src/runtime/logging/log.ts";
import { createOutageLogger } from "../../../src/runtime/logging/outage-logger.ts";
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

interface SendsParts {
  /** This dispatcher's id in the rows. */
  worker: string;
  db: Database;
  log: Log;
  /** Whether others see this dispatcher's heartbeats: what it claims otherwise has an expired lease. */
  isAlive(): boolean;
  /** By channel. */
  limiter: ConcurrencyLimiter<SendLane>;
  rateLimiter: SendRateLimiter;
  batchWriter: BatchWriter<FinishedSend>;
  /** Undefined where another worker decides the outcome by now. */
  send(row: ClaimedSend, lease: string): Promise<MessageOutcome | undefined>;
  record(row: ClaimedSend, result: MessageOutcome, ms: number): void;
}

const MAX_BATCH_ROWS = 100;
const LANE: SendLane = "outbound";

export type InFlightSends = ReturnType<typeof createInFlightSends>;

/** The sends of this dispatcher. Each has its slots before its row is claimed, so that what is claimed goes out at once. */
export function createInFlightSends(parts: SendsParts) {
  const { db, log, limiter, rateLimiter, batchWriter } = parts;
  const stopping = new AbortController();
  setMaxListeners(0, stopping.signal); // one for each send that waits, which Node would take for a leak
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
    // What cannot be written is found by the sweeper, like everything that was queued and not claimed.
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
    const began = performance.now();
    const result = await parts.send(row, lease);
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
    // An open request is awaited: aborted, its outcome would be unknown.
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

/** Claims sends in shared statements; undefined where the database is unavailable, so that the sweeper queues them again. */
function createClaims({ db, worker, log, isAlive }: SendsParts) {
  const outageLogger = createOutageLogger(log, {
    unavailable: "send_claims.failed",
    recovered: "send_claims.recovered",
  });
  const batcher = createBatcher<SendRef, { row: ClaimedSend | undefined; lease: string }>({
    maxItems: MAX_BATCH_ROWS,
    async run(refs) {
      if (!isAlive()) throw new Error("no heartbeat");
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
