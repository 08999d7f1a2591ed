import type { WebhookContent } from "../../platforms/webhooks/read-webhook.ts";
import type { Asset, Reading } from "../../platforms/webhooks/reading.ts";
import { notifyAfterCommit, type QueueNotifier } from "../../queue/queue-notifier.ts";
import { collectInSlices } from "../../runtime/async/time-slices.ts";
import { DAY, MINUTE } from "../../runtime/durations.ts";
import type { Database, Queryable } from "../../store/database/database.ts";
import { ClientsBeingDeleted, lockClients } from "../../store/tenants/client-locks.ts";
import { disconnectByPlatform } from "../channels/channels.ts";
import { type EventDraft, isRecorded, recordUnblockedEvents } from "../events/record-events.ts";
import type { InboundDraft } from "./draft.ts";
import { findOwners, type Owner } from "./owners.ts";
import { applyStatuses } from "./statuses.ts";
import { cacheTemplateUpdates } from "./templates.ts";
import { applyWatermarks, isWatermarkDraft } from "./watermarks.ts";

/** Counts of a webhook's updates. */
export interface ReceiveCounts {
  updates: number;
  /** Events; an update of a whole business is one event for each of its clients. */
  recorded: number;
  duplicate: number;
  /** Updates of assets that no client has, or has any more. */
  foreign: number;
  /** Updates that no event is recorded for. */
  silent: number;
}

export interface ReceiveResult {
  counts: ReceiveCounts;
  /** Ids of the recorded events and of the messages that the webhook is about, for the log. */
  eventIds: string[];
  messageIds: string[];
  /** Assets of the foreign updates. */
  unknownAssets: Asset[];
}

interface ReceiveParts {
  db: Database;
  notifier: QueueNotifier;
}

/**
 * Records all updates that have an owner. When clients of some are being deleted, it records the updates of
 * the others and throws ClientsBeingDeleted: the platform repeats the unacknowledged webhook.
 */
export async function receiveWebhook(
  parts: ReceiveParts,
  { updates }: WebhookContent,
): Promise<ReceiveResult> {
  return receiveExcept(parts, await collectInSlices(updates), new Set());
}

type Updates = readonly (Reading | undefined)[];

async function receiveExcept(
  parts: ReceiveParts,
  updates: Updates,
  skippedClients: ReadonlySet<string>,
): Promise<ReceiveResult> {
  try {
    return await recordUpdates(parts, updates, skippedClients);
  } catch (error) {
    if (!(error instanceof ClientsBeingDeleted)) throw error;
    await receiveExcept(parts, updates, new Set([...skippedClients, ...error.clientIds]));
    throw error;
  }
}

/**
 * Takes a few statements regardless of the number of updates, and may be repeated. Messages and templates are
 * updated first: after a crash in between the platform repeats the unacknowledged webhook.
 */
async function recordUpdates(
  { db, notifier }: ReceiveParts,
  updates: Updates,
  skippedClients: ReadonlySet<string>,
): Promise<ReceiveResult> {
  const readings = updates.filter((reading) => reading !== undefined);
  const ownersOf = await findOwners(db, readings);
  const readingsWithOwners = readings.map((reading) => ({ reading, owners: ownersOf(reading.asset) }));
  const allDrafts = readingsWithOwners.flatMap(({ reading, owners }) =>
    owners.filter(({ clientId }) => !skippedClients.has(clientId)).map((owner) => toDraft(reading, owner)),
  );
  const statusDrafts = await applyStatuses(
    db,
    allDrafts.filter((draft) => !isWatermarkDraft(draft)),
  );
  const drafts = await cacheTemplateUpdates(db, statusDrafts);
  const hasDisconnect = drafts.some(({ reading }) => reading.endsConnection);
  const recorded = hasDisconnect
    ? await recordAndDisconnect({ db, notifier }, drafts)
    : await recordUnblockedEvents(db, drafts, notifier);
  const { counts: watermarkCounts, ...watermarkIds } = await applyWatermarks(
    { db, notifier },
    allDrafts.filter(isWatermarkDraft),
  );
  const unowned = readingsWithOwners.filter(({ owners }) => owners.length === 0);
  return {
    counts: {
      updates: updates.length,
      recorded: recorded.length + watermarkCounts.recorded,
      duplicate: drafts.length - recorded.length + watermarkCounts.duplicate,
      foreign: unowned.length,
      silent: updates.length - readings.length + watermarkCounts.silent,
    },
    eventIds: [...recorded, ...watermarkIds.eventIds],
    messageIds: [...new Set([...messageIdsOf(drafts), ...watermarkIds.messageIds])],
    unknownAssets: unowned.map(({ reading }) => reading.asset),
  };
}

const messageIdsOf = (drafts: readonly InboundDraft[]) => drafts.flatMap(({ messageId }) => messageId ?? []);

const toDraft = (
  reading: Reading,
  { clientId, channelId, adAccountId, externalRef }: Owner,
): InboundDraft => ({
  clientId,
  type: reading.type,
  key: reading.key,
  channelId: channelId ?? null,
  adAccountId: adAccountId ?? null,
  externalRef: externalRef ?? null,
  occurredAt: reading.occurredAt,
  data: reading.data,
  raw: reading.raw,
  dedupKey: reading.dedupKey,
  reading,
});

/** Records channel.disconnected only if a channel was disconnected. */
const recordAndDisconnect = (parts: ReceiveParts, drafts: readonly InboundDraft[]): Promise<string[]> =>
  notifyAfterCommit(parts, async (tx, deferredNotifier) => {
    await lockClients(
      tx,
      drafts.map(({ clientId }) => clientId),
    );
    const events: EventDraft[] = [];
    for (const draft of drafts)
      events.push(
        (await disconnectIfEnded(tx, draft))
          ? { ...draft, type: "channel.disconnected", data: DISCONNECTED_DATA }
          : draft,
      );
    return recordUnblockedEvents(tx, events, deferredNotifier);
  });

const DISCONNECTED_DATA = { reason: "platform" };

/** Skips repeated updates: they must not disconnect a channel that was connected since. */
async function disconnectIfEnded(tx: Queryable, { clientId, reading }: InboundDraft): Promise<boolean> {
  if (!reading.endsConnection || (await isRecorded(tx, clientId, reading.dedupKey))) return false;
  return disconnectByPlatform(tx, clientId, { wabaId: reading.asset.id, at: disconnectTimeOf(reading) });
}

/** The platform repeats webhooks for seven days, so an older time is wrong. */
const MAX_UPDATE_AGE_MS = 8 * DAY;
/** Assumed maximum difference between the platform's clock and ours. */
const MAX_CLOCK_SKEW_MS = 5 * MINUTE;

/** Only channels granted by this time are disconnected. */
function disconnectTimeOf({ occurredAt }: Reading): Date {
  const [now, reportedAt] = [Date.now(), occurredAt.getTime()];
  return new Date(reportedAt < now - MAX_UPDATE_AGE_MS ? now : reportedAt + MAX_CLOCK_SKEW_MS);
}
