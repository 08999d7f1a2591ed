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
import type { InFlight } from "../stream-consumer.ts";
import type { MessageOutcome } from "./outcomes.ts";
import type { FinishedSend } from "./write-sends.ts";

interface SendsParts {
  /** This dispatcher's name in the rows. */
  worker: string;
  db: Database;
  log: Log;
  /** Whether the others can see that this dispatcher lives: what it claims otherwise they take for a dead one's. */
  isAlive(): boolean;
  /** By channel. */
  limiter: ConcurrencyLimiter;
  rateLimiter: SendRateLimiter;
  batchWriter: BatchWriter<FinishedSend>;
  /** Undefined where somebody else decides by now how it goes on. */
  send(row: ClaimedSend, lease: string): Promise<MessageOutcome | undefined>;
  record(row: ClaimedSend, result: MessageOutcome, ms: number): void;
}

/** Whoever's turn has come, and cannot go yet, comes again so much later; so does everybody while Redis does not answer. */
const RETRY_SLOT_DELAY_MS = MAX_SLOT_WAIT_MS + 100;
const MAX_BATCH_ROWS = 100;
const LANE = "events";

/** A message, and in how many milliseconds it may go out. */
interface PlannedSend extends SendRef {
  slotAt: number;
  wait: number;
}

export type InFlightSends = ReturnType<typeof createInFlightSends>;

/**
 * The messages that this dispatcher sends. Each has its slot and its moment before its row is taken, so that nothing is in hand
 * that does not go out at once.
 */
export function createInFlightSends({
  worker,
  db,
  log,
  limiter,
  rateLimiter,
  batchWriter,
  ...parts
}: SendsParts) {
  const stopping = new AbortController();
  setMaxListeners(0, stopping.signal); // one for each that waits, which Node would take for a leak
  const running = new Set<Promise<void>>();
  const outageLogger = createOutageLogger(log, {
    unavailable: "send_claims.failed",
    recovered: "send_claims.recovered",
  });

  const claim = createBatcher(async (refs: readonly SendRef[]) => {
    if (!parts.isAlive()) throw new Error("no heartbeat");
    const token = randomUUID();
    const rows = new Map((await claimSends(db, refs, { token, worker })).map((row) => [row.id, row]));
    return ({ id }) => ({ row: rows.get(id), lease: token });
  }, MAX_BATCH_ROWS);

  const unmarkQueued = createBatcher(async (refs: readonly SendRef[]) => {
    await unmarkQueuedSends(db, refs);
    return () => {};
  }, MAX_BATCH_ROWS);

  async function dispatch(refs: readonly SendRef[]): Promise<true> {
    const planned = await Promise.all([...groupByChannel(refs).values()].map(plan));
    const notStarted: SendRef[] = [];
    for (const one of planned.flat())
      if (one.wait <= MAX_SLOT_WAIT_MS && !stopping.signal.aborted && limiter.acquire(LANE, one.channelId))
        start(one);
      else notStarted.push(one);
    // What cannot be written is found by the sweeper, as whatever was queued and not taken up.
    if (notStarted.length > 0) await unmarkQueuedSends(db, notStarted).catch(() => {});
    return true;
  }

  /** Of one channel: in how many milliseconds each may go out, by whether its turn has come before. */
  async function plan(refs: readonly SendRef[]): Promise<PlannedSend[]> {
    const [channel] = refs as [SendRef, ...SendRef[]];
    const due = refs.filter(({ slotAt }) => slotAt !== undefined);
    const fresh = refs.filter(({ slotAt }) => slotAt === undefined);
    const slots = await rateLimiter
      .reserve(channel, { due: due.length, fresh: fresh.length })
      .catch(() => undefined);
    const now = Date.now();
    return [
      ...due.map((ref, index) => ({ ...ref, wait: slots?.due.now[index] ?? RETRY_SLOT_DELAY_MS })),
      ...fresh.map((ref, index) => {
        const { now: soon = [], later = [] } = slots?.fresh ?? {};
        const wait = soon[index] ?? later[index - soon.length] ?? RETRY_SLOT_DELAY_MS;
        return { ...ref, wait };
      }),
    ].map((one) => ({ ...one, slotAt: Math.round(now + one.wait) }));
  }

  function start(planned: PlannedSend): void {
    const work = run(planned).finally(() => {
      limiter.release(LANE, planned.channelId);
      running.delete(work);
    });
    running.add(work);
  }

  async function run({ wait, ...ref }: PlannedSend): Promise<void> {
    if (wait > 0) await pause(wait, stopping.signal);
    if (stopping.signal.aborted) return unmarkQueued(ref).catch(() => {});
    const claimed = await claim(ref).then((found) => {
      outageLogger.recovered();
      return found;
    }, outageLogger.failed);
    if (claimed?.row) await attempt(claimed.row, claimed.lease);
  }

  async function attempt(row: ClaimedSend, lease: string): Promise<void> {
    const began = performance.now();
    const result = await parts.send(row, lease);
    if (!result) return log.warn("message.lease_lost", { client: row.client_id, message_id: row.id });
    parts.record(row, result, Math.round(performance.now() - began));
    const { client_id, id } = row;
    await batchWriter.finish({ client_id, id, lease, ...result.finish, events: result.events });
  }

  const inFlight: InFlight = {
    count: () => running.size,
    stop: () => stopping.abort(),
    async drain() {
      while (running.size > 0) await Promise.all(running);
    },
    // A request that is out is awaited: given up, nobody would know what became of it.
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

/** The queue may name one twice. */
function groupByChannel(refs: readonly SendRef[]): Map<string, SendRef[]> {
  const channels = new Map<string, SendRef[]>();
  for (const ref of new Map(refs.map((one) => [one.id, one])).values())
    channels.set(ref.channelId, [...(channels.get(ref.channelId) ?? []), ref]);
  return channels;
}
