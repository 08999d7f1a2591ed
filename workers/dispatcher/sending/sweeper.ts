import { type EventDraft, recordEvents } from "../../../src/domain/events/record-events.ts";
import {
  CHANNEL_DISCONNECTED,
  EXPIRED,
  type MessageError,
  OUTCOME_UNKNOWN,
  QUARANTINED,
  UNKNOWN_ATTEMPT_ERRORS,
} from "../../../src/domain/messages/message-errors.ts";
import { messageStatus, sendResult } from "../../../src/domain/messages/message-events.ts";
import type { ChannelQueues } from "../../../src/queue/channel-queues.ts";
import { deferUntilCommit, type EventNotifier } from "../../../src/queue/wake-ups.ts";
import { STRANDED_AFTER_MS } from "../../../src/runtime/deadlines.ts";
import { shuffled } from "../../../src/runtime/shuffle.ts";
import type { Queryable } from "../../../src/store/database/database.ts";
import { type SendRef, unmarkQueuedSends } from "../../../src/store/messages/claim-sends.ts";
import {
  failDisconnected,
  failExpired,
  failQuarantined,
  failUnknown,
} from "../../../src/store/messages/expire-sends.ts";
import { markSendsUnknown, requeueUnstartedSends } from "../../../src/store/messages/recover-sends.ts";
import { releaseAllSends } from "../../../src/store/messages/send-order.ts";
import type { SettledSend } from "../../../src/store/messages/settled-sends.ts";
import {
  enqueueSends,
  listWaitingChannels,
  postponeUnconnectedSends,
} from "../../../src/store/messages/sweep-sends.ts";
import { LEASE_LIMITS } from "../../../src/store/processes/workers.ts";
import {
  MAX_BATCH_ROWS,
  MAX_STREAM_DEPTH,
  type QueueSweep,
  type SweepParts,
  sweepQueue,
} from "../sweep-loop.ts";
import type { PlatformAvailability } from "./platform-availability.ts";

export interface SendSweepParts extends SweepParts {
  /** Notifies of the events. */
  notifier: EventNotifier;
  /** Milliseconds that a send of unknown outcome waits for a status webhook. */
  unknownTimeoutMs: number;
  /** Called for each message that failed and is not retried. */
  onAbandoned(row: SettledSend, error: MessageError): void;
  queues: Pick<ChannelQueues, "fullChannels">;
  availability: Pick<PlatformAvailability, "pausedPlatforms">;
}

interface Capacity {
  epoch: string;
  /** Channels whose queues are full: their sends wait in their rows. */
  fullChannels: ReadonlySet<string>;
}

export const sweepSends = (parts: SendSweepParts): Promise<void> => sweepQueue(parts, sendSweep(parts));

const sendSweep = (parts: SendSweepParts): QueueSweep<Capacity, SendRef> => ({
  queue: "sends",
  readCapacity: () => readCapacity(parts),
  recover: (tx) => recover(tx, parts),
  settle: (tx) => settle(tx, parts),
  enqueue: (tx, capacity) => enqueue(tx, parts, capacity),
  unmark: (refs) => unmarkQueuedSends(parts.db, refs),
  logFields: { lane: "outbound" },
});

async function enqueue(tx: Queryable, { availability }: SendSweepParts, { epoch, fullChannels }: Capacity) {
  const unreachablePlatforms = availability.pausedPlatforms();
  const channels = (await listWaitingChannels(tx)).filter(
    ({ id, platform, status }) =>
      status === "connected" && !fullChannels.has(id) && !unreachablePlatforms.includes(platform),
  );
  const refs = await enqueueSends(tx, {
    epoch,
    strandedAfter: STRANDED_AFTER_MS,
    limit: MAX_BATCH_ROWS,
    channelIds: shuffled(channels.map(({ id }) => id)),
    unreachablePlatforms,
  });
  return [{ lane: "outbound" as const, refs }];
}

async function readCapacity({ streams, queues }: SendSweepParts): Promise<Capacity | undefined> {
  const outboundStreams = streams.all.filter(({ lane }) => lane === "outbound");
  const [epoch, fullChannels, ...depths] = await Promise.all([
    streams.epoch(),
    queues.fullChannels(),
    ...outboundStreams.map(({ key }) => streams.depth(key)),
  ]);
  return depths.some((depth) => depth >= MAX_STREAM_DEPTH)
    ? undefined
    : { epoch, fullChannels: new Set(fullChannels) };
}

/** Sends without a started request are due again; those with one become unknown and are never sent again. */
async function recover(tx: Queryable, { unknownTimeoutMs, notifier, log }: SendSweepParts) {
  const released = await requeueUnstartedSends(tx, LEASE_LIMITS);
  const error = JSON.stringify(UNKNOWN_ATTEMPT_ERRORS.interrupted);
  const unknown = await markSendsUnknown(tx, { ...LEASE_LIMITS, waitMs: unknownTimeoutMs, error });
  const events = unknown.map((row) => sendResult(row, OUTCOME_BY_STATUS[row.status] ?? "accepted"));
  const notify = await recordDeferred(tx, events, notifier);
  const afterCommit = () => {
    notify();
    for (const { client_id: client, id, channel_id: channel, platform } of unknown)
      log.warn("message.interrupted", { client, message_id: id, channel, platform });
  };
  return { counts: { released, unknown: unknown.length }, afterCommit };
}

/** A status webhook may have arrived meanwhile; it decides whether the platform accepted the message. */
const OUTCOME_BY_STATUS: Readonly<Record<string, "unknown" | "rejected">> = {
  unknown: "unknown",
  failed: "rejected",
};

/** Fails sends that waited too long for a status, a channel or their turn, or are quarantined; releases later sends to the same people. */
async function settle(tx: Queryable, { notifier, onAbandoned }: SendSweepParts) {
  const [unconnected, expired] = [JSON.stringify(CHANNEL_DISCONNECTED), JSON.stringify(EXPIRED)];
  const channels = await listWaitingChannels(tx);
  const channelsWith = (status: string) =>
    channels.filter((channel) => channel.status === status).map(({ id }) => id);
  const unknown = await failUnknown(tx, JSON.stringify(OUTCOME_UNKNOWN));
  const unsent = [
    ...(await failExpired(tx, { expired, unconnected })),
    ...(await failDisconnected(tx, { error: unconnected, channelIds: channelsWith("disconnected") })),
    ...(await failQuarantined(tx, JSON.stringify(QUARANTINED))),
  ];
  const events = [
    ...unknown.map(toFailedEvent),
    ...unsent.flatMap((row) => [sendResult(row, "rejected", errorOf(row)), toFailedEvent(row)]),
  ];
  const notify = await recordDeferred(tx, events, notifier);
  await postponeUnconnectedSends(tx, channelsWith("needs_reauth"));
  await releaseAllSends(tx);
  return () => {
    notify();
    for (const row of [...unknown, ...unsent]) onAbandoned(row, errorOf(row));
  };
}

/** Records events; returns the function that notifies the dispatchers after the commit. */
async function recordDeferred(
  tx: Queryable,
  events: readonly EventDraft[],
  notifier: EventNotifier,
): Promise<() => void> {
  const deferred = deferUntilCommit(notifier);
  await recordEvents(tx, events, deferred);
  return deferred.release;
}

const errorOf = ({ error }: SettledSend): MessageError => JSON.parse(error ?? "{}");

const toFailedEvent = (row: SettledSend): EventDraft =>
  messageStatus(row, "failed", { at: new Date(), error: errorOf(row) });
