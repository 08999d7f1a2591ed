import type { Asset, Reading } from "../../platforms/webhooks/updates.ts";
import { createBatcher } from "../../runtime/async/batcher.ts";
import { withTimeout } from "../../runtime/async/timeouts-and-retries.ts";
import { REQUEST_DATABASE_TIMEOUT_MS } from "../../runtime/deadlines.ts";
import { TEMPLATE_EVENTS } from "../../schema/enumerations.ts";
import { DatabaseUnavailable } from "../../store/database/faults.ts";
import {
  type DraftOutcome,
  type InboundDraft,
  type RecordParts,
  recordInbound,
} from "../events/record-events.ts";
import { applyStatuses, applyWatermarks, isWatermarkDraft } from "./message-statuses.ts";
import { findOwners, type Owner, type OwnerLookup } from "./owners.ts";
import { recordAndDisconnect } from "./revocations.ts";
import { cacheTemplateUpdates } from "./templates.ts";

/**
 * The life of a platform's webhook, after its endpoint has checked the signature and read the updates:
 *
 * fetching: the fields of its leads are fetched. A webhook without leads begins as pending.
 * pending: waits for a group of webhooks; the batcher starts the group.
 * running: its owners are found, its messages, templates and channels are updated, and its events are inserted.
 * recorded: the events and their deliveries are committed. The endpoint answers, and a dispatcher is woken.
 * failed: the group failed or took too long. The endpoint answers with an error, and the platform repeats the webhook.
 *
 * record-events.ts makes each event's request body and drops repetitions. The deliveries of the dispatcher then move each
 * event from waiting to delivered, failed or skipped.
 */

/** A webhook whose signature is valid. */
export interface IncomingWebhook {
  updates: Updates;
  /** Size of the body. */
  bytes: number;
}

/** The updates of a webhook; undefined for one without an event. */
type Updates = readonly (Reading | undefined)[];

export interface WebhookIntake {
  /** Resolves once every update is committed. Throws DatabaseUnavailable after the timeout: the platform repeats it. */
  receive(webhook: IncomingWebhook): Promise<ReceiveResult>;
}

/** The result of one webhook, also when it was received together with others. */
export interface ReceiveResult {
  counts: ReceiveCounts;
  /** Ids of the recorded events and of the messages that the webhook is about, for the log. */
  eventIds: string[];
  messageIds: Set<string>;
  /** Assets of the updates that count as `unknown_asset`. */
  unknownAssets: Asset[];
}

/** Counts of a webhook's updates. */
export interface ReceiveCounts {
  updates: number;
  /** Events; an update of a whole business is one event for each of its clients. */
  recorded: number;
  duplicate: number;
  /** Updates of assets that no client has, or no longer has. */
  unknown_asset: number;
  /** Updates that no event is recorded for. */
  ignored: number;
}

interface IntakeParts extends RecordParts {
  /** Adds the fields of its leads to a webhook. */
  fetchLeads(webhook: IncomingWebhook): Promise<IncomingWebhook>;
}

/** While this many groups wait for the disk, further webhooks share the next group. */
const MAX_CONCURRENT_GROUPS = 2;
/** Heavy webhooks have as many connections of their own, so that the others never wait for them. */
const MAX_CONCURRENT_HEAVY = 2;
const MAX_GROUP_WEBHOOKS = 400;
/** About 400 updates of common size: Postgres writes them in some 20 ms, which later webhooks wait. */
const MAX_GROUP_WEIGHT = 300_000;
/** An update costs as much as this many bytes of its body, besides its own bytes. */
const UPDATE_WEIGHT = 400;

/**
 * Records concurrent webhooks with shared statements: the commits of the database are the bottleneck. A failed group is
 * repeated in parts, so that one webhook cannot fail the others.
 */
export function createWebhookIntake(
  parts: IntakeParts,
  timeoutMs: number = REQUEST_DATABASE_TIMEOUT_MS,
): WebhookIntake {
  const shared = createBatcher<IncomingWebhook, ReceiveResult>({
    maxItems: MAX_GROUP_WEBHOOKS,
    maxWeight: MAX_GROUP_WEIGHT,
    weightOf,
    maxRunningBatches: MAX_CONCURRENT_GROUPS,
    // After a lost connection every part would wait for the database again.
    shouldIsolate: (error) => !(error instanceof DatabaseUnavailable),
    run: (webhooks) => receiveGroup(parts, webhooks),
  });
  const heavy = createBatcher<IncomingWebhook, ReceiveResult>({
    maxItems: 1,
    maxRunningBatches: MAX_CONCURRENT_HEAVY,
    run: (webhooks) => receiveGroup(parts, webhooks),
  });

  async function record(webhook: IncomingWebhook): Promise<ReceiveResult> {
    if (hasOwnTransaction(webhook)) return (await receiveGroup(parts, [webhook]))(webhook);
    return (isHeavy(webhook) ? heavy : shared).add(webhook);
  }

  const recordInTime = (webhook: IncomingWebhook): Promise<ReceiveResult> =>
    withTimeout(timeoutMs, record(webhook), () => {
      // Updates of a running group may still be recorded; the platform's repetition then finds duplicates.
      (isHeavy(webhook) ? heavy : shared).cancel(webhook);
      throw new DatabaseUnavailable(new Error(`the webhook was not recorded within ${timeoutMs} ms`));
    });

  return {
    receive: async (webhook) => recordInTime(hasLead(webhook) ? await parts.fetchLeads(webhook) : webhook),
  };
}

const hasLead = ({ updates }: IncomingWebhook): boolean =>
  updates.some((reading) => reading?.type === "lead.created");

const weightOf = ({ updates, bytes }: IncomingWebhook): number => updates.length * UPDATE_WEIGHT + bytes;

const isHeavy = (webhook: IncomingWebhook): boolean => weightOf(webhook) > MAX_GROUP_WEIGHT;

/**
 * True for updates whose events are recorded in a transaction with further rows. They are not grouped: a group that fails
 * after the commit of a part would count the events of that part as duplicates.
 */
const hasOwnTransaction = ({ updates }: IncomingWebhook): boolean =>
  updates.some((reading) => reading !== undefined && (reading.endsConnection || reading.watermark));

/** Records all updates of the webhooks that have an owner, in a few statements regardless of their number. May be repeated. */
async function receiveGroup(parts: RecordParts, webhooks: readonly IncomingWebhook[]) {
  const ownersOf = await findOwners(
    parts.db,
    webhooks.flatMap(({ updates }) => updates.filter((reading) => reading !== undefined)),
  );
  const results = webhooks.map(({ updates }) => newResult(updates.length));
  const drafts = webhooks.flatMap(({ updates }, webhook) =>
    toDrafts({ updates, webhook, result: results[webhook] as ReceiveResult }, ownersOf),
  );
  await recordDrafts(parts, drafts, results);
  const resultByWebhook = new Map(webhooks.map((webhook, place) => [webhook, results[place]]));
  return (webhook: IncomingWebhook) => resultByWebhook.get(webhook) as ReceiveResult;
}

const newResult = (updates: number): ReceiveResult => ({
  counts: { updates, recorded: 0, duplicate: 0, unknown_asset: 0, ignored: 0 },
  eventIds: [],
  messageIds: new Set(),
  unknownAssets: [],
});

interface Webhook {
  updates: Updates;
  webhook: number;
  result: ReceiveResult;
}

/** Counts the updates that have no draft. */
function toDrafts({ updates, webhook, result }: Webhook, ownersOf: OwnerLookup): InboundDraft[] {
  const drafts: InboundDraft[] = [];
  for (const reading of updates) {
    const owners = reading ? ownersOf(reading.asset) : [];
    if (!reading) result.counts.ignored += 1;
    else if (owners.length > 0) for (const owner of owners) drafts.push(toDraft(reading, owner, webhook));
    else {
      result.counts.unknown_asset += 1;
      result.unknownAssets.push(reading.asset);
    }
  }
  return drafts;
}

const toDraft = (
  reading: Reading,
  { clientId, channelId, adAccountId, channelExternalRef }: Owner,
  webhook: number,
): InboundDraft => ({
  clientId,
  type: reading.type,
  key: reading.key,
  channelId: channelId ?? null,
  adAccountId: adAccountId ?? null,
  channelExternalRef: channelExternalRef ?? null,
  occurredAt: reading.occurredAt,
  data: reading.data,
  raw: reading.raw,
  dedupKey: reading.dedupKey,
  reading,
  webhook,
});

/**
 * Adds the outcomes to the results. Messages and templates are updated first: after a crash in between the platform repeats
 * the unacknowledged webhooks.
 */
async function recordDrafts(
  parts: RecordParts,
  allDrafts: readonly InboundDraft[],
  results: readonly ReceiveResult[],
): Promise<void> {
  const named = allDrafts.filter((draft) => !isWatermarkDraft(draft));
  const changed = new Map([
    ...(await applyStatuses(parts.db, named.filter(isStatusDraft))),
    ...(await cacheTemplateUpdates(parts.db, named.filter(isTemplateDraft))),
  ]);
  const drafts = named.map((draft) => changed.get(draft) ?? draft);
  addOutcomes(results, await recordNamed(parts, drafts));
  const watermarks = await applyWatermarks(parts, allDrafts.filter(isWatermarkDraft));
  addOutcomes(results, watermarks.outcomes);
  for (const { webhook } of watermarks.ignored) (results[webhook] as ReceiveResult).counts.ignored += 1;
}

const isStatusDraft = ({ reading }: InboundDraft) => reading.status !== undefined;

/** Templates belong to a whole business account. */
const isTemplateDraft = ({ type, reading }: InboundDraft) =>
  reading.asset.kind === "waba" && TEMPLATE_EVENTS.some((known) => known === type);

async function recordNamed(parts: RecordParts, drafts: readonly InboundDraft[]): Promise<DraftOutcome[]> {
  if (drafts.some(({ reading }) => reading.endsConnection)) return recordAndDisconnect(parts, drafts);
  return recordInbound(parts.db, drafts, parts.notifier);
}

/** Adds each outcome to the result of its webhook. */
function addOutcomes(results: readonly ReceiveResult[], outcomes: readonly DraftOutcome[]): void {
  for (const { webhook, eventId, messageId } of outcomes) {
    const { counts, eventIds, messageIds } = results[webhook] as ReceiveResult;
    if (eventId === undefined) counts.duplicate += 1;
    else {
      counts.recorded += 1;
      eventIds.push(eventId);
    }
    if (messageId !== undefined) messageIds.add(messageId);
  }
}
