import type { Asset, Reading } from "../../platforms/webhooks/updates.ts";
import { createBatcher } from "../../runtime/async/batcher.ts";
import { withTimeout } from "../../runtime/async/timeouts-and-retries.ts";
import { REQUEST_DATABASE_TIMEOUT_MS } from "../../runtime/deadlines.ts";
import { isPlatformId } from "../../runtime/ids.ts";
import { TEMPLATE_EVENTS } from "../../schema/enumerations.ts";
import { findAdAccountOwners } from "../../store/ads/ad-accounts.ts";
import { type ChannelOwnerRow, findChannelOwners } from "../../store/channels/channel-owners.ts";
import type { Queryable } from "../../store/database/database.ts";
import { DatabaseUnavailable } from "../../store/database/faults.ts";
import {
  type DraftOutcome,
  type InboundDraft,
  type RecordParts,
  recordInbound,
} from "../events/record-events.ts";
import { applyStatuses, applyWatermarks, isWatermarkDraft } from "./message-statuses.ts";
import { recordAndDisconnect } from "./revocations.ts";
import { cacheTemplateUpdates } from "./templates.ts";

/**
 * The life of a platform's webhook, after its endpoint has checked the signature and read the updates:
 *
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
  parts: RecordParts,
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

  return {
    receive: (webhook) =>
      withTimeout(timeoutMs, record(webhook), () => {
        // Updates of a running group may still be recorded; the platform's repetition then finds duplicates.
        (isHeavy(webhook) ? heavy : shared).cancel(webhook);
        throw new DatabaseUnavailable(new Error(`the webhook was not recorded within ${timeoutMs} ms`));
      }),
  };
}

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

/** A client that an update concerns. */
interface Owner {
  clientId: string;
  channelId?: string;
  adAccountId?: string;
  channelExternalRef?: string | null;
}

type OwnerLookup = (asset: Asset) => Owner[];

/** Finds the owners of all assets in the readings, with one statement for each platform among them. */
async function findOwners(db: Queryable, readings: readonly Reading[]): Promise<OwnerLookup> {
  const idsOf = collectIds(readings);
  const lookups = new Map<Asset["kind"], OwnerLookup>();
  const [assets, wabas] = [idsOf("number"), idsOf("waba")];
  if (assets.length + wabas.length > 0) {
    const lookUp = lookUpChatOwners(await findChannelOwners(db, "chatapp", { assets, wabas }));
    lookups.set("number", lookUp).set("waba", lookUp);
  }
  for (const [kind, platform] of SINGLE_ASSETS) {
    const assets = idsOf(kind);
    if (assets.length === 0) continue;
    lookups.set(kind, lookUpByAsset(await findChannelOwners(db, platform, { assets, wabas: [] })));
  }
  const accounts = idsOf("ad_account");
  if (accounts.length > 0) lookups.set("ad_account", await lookUpAdAccountOwners(db, accounts));
  return (asset) => lookups.get(asset.kind)?.(asset) ?? [];
}

/** Returns the valid ids of a kind of assets, each once. */
function collectIds(readings: readonly Reading[]): (kind: Asset["kind"]) => string[] {
  const idsByKind = new Map<Asset["kind"], Set<string>>();
  for (const { asset } of readings)
    idsByKind.set(asset.kind, (idsByKind.get(asset.kind) ?? new Set()).add(asset.id));
  return (kind) => [...(idsByKind.get(kind) ?? [])].filter(isPlatformId);
}

/** Kinds of assets that have one channel each. */
const SINGLE_ASSETS = [
  ["page", "socialapp"],
  ["photo_account", "photoapp"],
] as const;

const toOwner = ({ client_id, id, external_ref }: ChannelOwnerRow): Owner => ({
  clientId: client_id,
  channelId: id,
  channelExternalRef: external_ref,
});

function lookUpByAsset(rows: readonly ChannelOwnerRow[]): OwnerLookup {
  const owners = new Map(rows.map((row) => [row.asset_id, [toOwner(row)]]));
  return ({ id }) => owners.get(id) ?? [];
}

function lookUpChatOwners(rows: readonly ChannelOwnerRow[]): OwnerLookup {
  const numberOwners = lookUpByAsset(rows);
  return (asset) => {
    if (asset.kind === "number") return numberOwners(asset);
    const channels = rows.filter(({ waba_id }) => waba_id === asset.id);
    const named = channels.find(({ display_phone_number }) => isSameNumber(display_phone_number, asset));
    if (named) return [toOwner(named)];
    const owners = firstPerClient(candidateChannels(channels, asset));
    return asset.requiresSingleOwner && owners.length > 1 ? [] : owners;
  };
}

/** A number without a match may belong to a channel whose number is not known. */
function candidateChannels(channels: readonly ChannelOwnerRow[], { displayNumber }: Asset) {
  const withoutNumber = channels.filter(({ display_phone_number }) => display_phone_number === null);
  return displayNumber === undefined || withoutNumber.length === 0 ? channels : withoutNumber;
}

/** Compares digits only: numbers are written in many ways. */
const isSameNumber = (written: string | null, { displayNumber }: Asset) =>
  digitsOf(displayNumber) !== "" && digitsOf(written) === digitsOf(displayNumber);

const digitsOf = (text: string | null | undefined) => (text ?? "").replaceAll(/\D/g, "");

/** An update of a whole business concerns each client once, by its first channel there. */
function firstPerClient(channels: readonly ChannelOwnerRow[]): Owner[] {
  const first = new Map<string, Owner>();
  for (const channel of channels)
    if (!first.has(channel.client_id)) first.set(channel.client_id, toOwner(channel));
  return [...first.values()];
}

async function lookUpAdAccountOwners(db: Queryable, ids: readonly string[]): Promise<OwnerLookup> {
  const holders = await findAdAccountOwners(
    db,
    ids.map((id) => `act_${id}`),
  );
  return ({ id }) =>
    holders
      .filter(({ ad_account_id }) => ad_account_id === `act_${id}`)
      .map(({ client_id, ad_account_id }) => ({ clientId: client_id, adAccountId: ad_account_id }));
}
