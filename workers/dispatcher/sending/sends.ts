import { type EventDraft, recordEvents } from "../../../src/domain/events/record-events.ts";
import type { Rates } from "../../../src/queue/rates.ts";
import { type EventNotifier, notifyAfterCommit } from "../../../src/queue/wake-ups.ts";
import type { Log } from "../../../src/runtime/log.ts";
import type { TrackedWork, WorkTracker } from "../../../src/runtime/watchdog.ts";
import type { Database } from "../../../src/store/database/database.ts";
import {
  type ClaimedSend,
  claimSends,
  createSendPoll,
  type DueSendKey,
  releaseSendClaim,
  type SendKey,
} from "../../../src/store/messages/claim-sends.ts";
import { finishSends, type SendFinish } from "../../../src/store/messages/finish-sends.ts";
import { releaseNextSends } from "../../../src/store/messages/send-order.ts";
import type { BatchWriter } from "../batch-writer.ts";
import type { Claim, ClaimQueue, KeyRequest } from "../claim-loop.ts";
import { type ConcurrencyLimiter, type SendLane, sendLaneOf } from "../concurrency-limiter.ts";
import type { InFlight } from "../lifecycle.ts";
import { createBatchRates } from "./batches.ts";
import { hasConnection, type MessageOutcome } from "./outcomes.ts";
import type { PlatformAvailability } from "./platform-availability.ts";
import { createTokens, type HasToken } from "./tokens.ts";

/**
 * The life of a send: the states of its row in sends, and who moves it on.
 * scheduled: its time has not come. The recovery moves a single one on, and the start of its batch one of a batch.
 * behind: an earlier message to the same person comes first. The transaction that finishes that one releases it.
 * waiting: due when next_attempt_at has passed; a retry waits before messages that were accepted later. The claim loop claims it.
 * claimed: this dispatcher has it, with a lease, a slot and a token of its channel's rate. All that may wait, such as an exchange of
 * the token, comes before its mark (send-message.ts).
 * sending: `sending_at` is on disk, so no other dispatcher may send it. The request follows, and its outcome (outcomes.ts).
 * unwritten: the outcome is decided. The batch writer deletes the row, or makes it unknown or waiting.
 * unknown: the request may have arrived; it is never sent again. A status webhook ends it, or the recovery when none comes.
 * A claimed send waits again at its place, without an attempt, when the process stops, the queue is held, its start comes
 * too late, or the platform has asked for a pause. The recovery makes sends of dead dispatchers wait again, or unknown.
 */

interface SendsParts {
  /** This dispatcher's id in the rows. */
  worker: string;
  db: Database;
  log: Log;
  limiter: ConcurrencyLimiter<SendLane>;
  rates: Rates;
  availability: PlatformAvailability;
  /** Called when a slot was released. */
  onSlotFree(): void;
  batchWriter: BatchWriter<FinishedSend>;
  tracker: WorkTracker;
  /** Undefined when the lease was lost and another worker decides the outcome. */
  send(row: ClaimedSend, claim: Claim, control: SendControl): Promise<MessageOutcome | undefined>;
  record(row: ClaimedSend, result: MessageOutcome, ms: number): void;
}

/** The send as its dispatcher controls it. */
export interface SendControl {
  tracked: TrackedWork;
  /** True when no further request may start. */
  isStopped(): boolean;
  /** Asked before the mark of the first request, and before this request. */
  hasToken: HasToken;
}

export function createSends(parts: SendsParts) {
  const { worker, db, log, limiter, rates, availability, batchWriter } = parts;
  const withBatchRates = createBatchRates(db);
  const pollSends = createSendPoll(db);
  const holdToken = createTokens({ rates, take, idOf });
  const running = new Set<Promise<void>>();
  let isStopped = false;
  /** One suspect at a time, so that one that kills its dispatcher adds no death to another. */
  let suspects = 0;

  function acquire(key: SendKey, count: number): number {
    const { channelId, isSuspect } = key;
    if (isSuspect && suspects > 0) return 0;
    const allowed = availability.acquire(channelId, isSuspect ? 1 : count);
    const acquired = limiter.acquireUpTo(sendLaneOf(key.batchId), channelId, allowed);
    if (allowed > 0 && acquired === 0) availability.release(channelId);
    if (isSuspect) suspects += acquired;
    return acquired;
  }

  function release({ channelId, batchId, isSuspect }: SendKey, count: number): void {
    if (isSuspect) suspects -= count;
    for (let left = count; left > 0; left -= 1) limiter.release(sendLaneOf(batchId), channelId);
    availability.release(channelId);
  }

  /** Unused tokens are returned, also when the claim fails: nothing of it is sent. */
  async function claim(requests: readonly KeyRequest<SendKey>[], token: string): Promise<ClaimedSend[]> {
    const unused = new Map(requests.map(({ key, max }) => [idOf(key), max]));
    try {
      const wanted = requests.map(({ key, max, after }) => ({ ...key, max, after }));
      const rows = await claimSends(db, wanted, { token, worker });
      for (const row of rows) unused.set(idOf(keyOf(row)), (unused.get(idOf(keyOf(row))) ?? 0) - 1);
      return rows;
    } finally {
      for (const { key } of requests) rates.give(key, unused.get(idOf(key)) ?? 0);
    }
  }

  function start(row: ClaimedSend, claim: Claim): void {
    const work = attempt(row, claim).finally(() => running.delete(work));
    running.add(work);
  }

  async function attempt(row: ClaimedSend, claim: Claim): Promise<void> {
    const tracked = parts.tracker.begin(`message ${row.id} client ${row.client_id}`);
    const onCallEnd = () => {
      release(keyOf(row), 1);
      parts.onSlotFree();
    };
    try {
      const began = performance.now();
      const hasToken = holdToken(keyOf(row), claim.claimedAt);
      const control = { tracked, isStopped: () => isStopped, hasToken };
      const result = await parts.send(row, claim, control).finally(onCallEnd);
      if (result) await finish(row, claim, result, Math.round(performance.now() - began));
      else log.warn("message.lease_lost", { client: row.client_id, message_id: row.id });
    } finally {
      tracked.end();
    }
  }

  async function take(requests: readonly Pick<KeyRequest<SendKey>, "key" | "max">[]): Promise<number[]> {
    const keys = await withBatchRates(requests.map(({ key }) => key));
    return rates.take(keys.map((key, index) => ({ ...key, count: requests[index]?.max ?? 0 })));
  }

  async function finish(
    row: ClaimedSend,
    { lease }: Claim,
    result: MessageOutcome,
    ms: number,
  ): Promise<void> {
    const { client_id, id } = row;
    const isReachable = hasConnection(result);
    if (isReachable !== undefined) availability.record(row, isReachable);
    if (result.pauseMs) rates.pause(keyOf(row), result.pauseMs);
    parts.record(row, result, ms);
    await batchWriter.finish({ client_id, id, lease, ...result.finish, events: result.events });
  }

  const queue: ClaimQueue<SendKey, ClaimedSend> = {
    idOf,
    keyOf,
    dueAtOf: ({ attempts, next_attempt_at }) => (attempts === 0 ? next_attempt_at : undefined),
    freeSlots: () => limiter.freeSlots(),
    acquire,
    release,
    sleepOf: (key) => Math.max(rates.sleepOf(key), availability.sleepOf(key.channelId)),
    async poll(last, limit) {
      const keys = await pollSends(last, limit);
      return keys.map(({ after, ...key }) => ({ key, after }));
    },
    waitUntilReady: batchWriter.waitForDrain,
    admit: take,
    claim,
    releaseClaim: (token) => releaseSendClaim(db, { token, worker }),
    start: (rows, claim) => {
      for (const row of rows) start(row, claim);
    },
  };

  const inFlight: InFlight = {
    count: () => running.size,
    stop() {
      isStopped = true;
    },
    async drain() {
      while (running.size > 0) await Promise.all(running);
    },
    // Open requests are awaited: the outcome of an aborted one would be unknown.
    abort: () => {},
    abandonWrites: () => batchWriter.abandon(),
  };
  return { ...inFlight, queue };
}

const idOf = ({ channelId, batchId, isSuspect }: SendKey): string => `${channelId} ${batchId} ${isSuspect}`;

const keyOf = ({ client_id, channel_id, batch_id, is_suspect }: ClaimedSend): SendKey => ({
  clientId: client_id,
  channelId: channel_id,
  batchId: batch_id,
  isSuspect: is_suspect,
});

/** The outcome of a send, and the events for its client. */
export interface FinishedSend extends SendFinish {
  events: readonly EventDraft[];
}

interface WriteSendsParts {
  db: Database;
  /** Notifies of the events. */
  notifier: EventNotifier;
  /** Called with the keys of sends that waited for these. */
  onReleased(keys: readonly DueSendKey[]): void;
}

/**
 * Writes the outcomes of sends whose lease still holds, and their events, and releases the next sends to the same people, in
 * one transaction. Returns the ids of these sends.
 */
export async function writeSends(
  { db, notifier, onReleased }: WriteSendsParts,
  sends: readonly FinishedSend[],
): Promise<string[]> {
  const { finished, released } = await notifyAfterCommit({ db, notifier }, async (tx, deferredNotifier) => {
    const leased = await finishSends(
      tx,
      sends.map(({ events, ...finish }) => finish),
    );
    const leasedIds = new Set(leased.map(({ id }) => id));
    await recordEvents(
      tx,
      sends.flatMap(({ id, events }) => (leasedIds.has(id) ? events : [])),
      deferredNotifier,
    );
    return { finished: leased, released: await releaseNextSends(tx, leased) };
  });
  onReleased(released);
  return finished.map(({ id }) => id);
}

/** Drops the platform's ids, the only remote text that Postgres may reject; undefined when there are none. */
export function withoutPlatformIds(send: FinishedSend): FinishedSend | undefined {
  if (send.platform_message_id === null && send.caption_message_id === null) return undefined;
  return { ...send, platform_message_id: null, caption_message_id: null };
}
