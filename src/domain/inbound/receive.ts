import type { Reading } from "../../platforms/webhooks/reading.ts";
import type { QueueNotifier } from "../../queue/queue-notifier.ts";
import { type Database, limitLockWaits } from "../../store/database/database.ts";
import { ClientsBeingDeleted } from "../../store/tenants/client-locks.ts";
import { recordUnblockedEvents } from "../events/record-events.ts";
import { recordAndDisconnect } from "./disconnects.ts";
import { type DraftOutcome, type InboundDraft, toOutcomes } from "./draft.ts";
import { findOwners, type Owner, type OwnerLookup } from "./owners.ts";
import { addOutcomes, newResult, type ReceiveResult } from "./receive-results.ts";
import { applyStatuses } from "./statuses.ts";
import { cacheTemplateUpdates } from "./templates.ts";
import { applyWatermarks, isWatermarkDraft } from "./watermarks.ts";

/** The updates of a webhook; undefined for one without an event. */
export type Updates = readonly (Reading | undefined)[];

export interface ReceiveParts {
  db: Database;
  notifier: QueueNotifier;
  /** Milliseconds that each statement waits for a lock; then an error is thrown that isLockTimeout recognises. */
  lockTimeoutMs?: number;
}

/**
 * Records all updates of the webhooks that have an owner, in a few statements regardless of their number. May be
 * repeated. A webhook with updates of clients that are being deleted gets an error: the platform repeats it.
 */
export async function receiveWebhooks(
  parts: ReceiveParts,
  webhooks: readonly Updates[],
): Promise<(ReceiveResult | ClientsBeingDeleted)[]> {
  const ownersOf = await findOwners(
    parts.db,
    webhooks.flatMap((updates) => updates.filter((reading) => reading !== undefined)),
  );
  const results = webhooks.map(({ length }) => newResult(length));
  const drafts = webhooks.flatMap((updates, webhook) =>
    toDrafts({ updates, webhook, result: results[webhook] as ReceiveResult }, ownersOf),
  );
  const blockedClients = await recordDrafts(withLockTimeout(parts), drafts, results);
  const errors = errorsByWebhook(drafts, blockedClients);
  return results.map((result, webhook) => errors.get(webhook) ?? result);
}

const withLockTimeout = ({ lockTimeoutMs, ...parts }: ReceiveParts): ReceiveParts =>
  lockTimeoutMs === undefined ? parts : { ...parts, db: limitLockWaits(parts.db, lockTimeoutMs) };

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
    if (!reading) result.counts.silent += 1;
    else if (owners.length > 0) for (const owner of owners) drafts.push(toDraft(reading, owner, webhook));
    else {
      result.counts.foreign += 1;
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
 * Adds the outcomes to the results and returns the clients that are being deleted. Messages and templates are updated
 * first: after a crash in between the platform repeats the unacknowledged webhooks.
 */
async function recordDrafts(
  parts: ReceiveParts,
  allDrafts: readonly InboundDraft[],
  results: readonly ReceiveResult[],
): Promise<ReadonlySet<string>> {
  const blocked = new Set<string>();
  const named = allDrafts.filter((draft) => !isWatermarkDraft(draft));
  const drafts = await withoutBlocked(named, blocked, async (unblocked) =>
    cacheTemplateUpdates(parts.db, await applyStatuses(parts.db, unblocked)),
  );
  addOutcomes(results, await recordNamed(parts, drafts, blocked));
  const watermarks = await withoutBlocked(allDrafts.filter(isWatermarkDraft), blocked, (unblocked) =>
    applyWatermarks(parts, unblocked),
  );
  addOutcomes(results, watermarks.outcomes);
  for (const { webhook } of watermarks.silent) (results[webhook] as ReceiveResult).counts.silent += 1;
  return blocked;
}

async function recordNamed(
  parts: ReceiveParts,
  drafts: readonly InboundDraft[],
  blocked: Set<string>,
): Promise<DraftOutcome[]> {
  if (drafts.some(({ reading }) => reading.endsConnection))
    return withoutBlocked(drafts, blocked, (unblocked) => recordAndDisconnect(parts, unblocked));
  const { ids, blockedClients } = await recordUnblockedEvents(parts.db, drafts, parts.notifier);
  for (const clientId of blockedClients) blocked.add(clientId);
  return toOutcomes(drafts, ids);
}

/** Repeats a step without the clients that are being deleted: the updates of the others do not wait for the deletion. */
async function withoutBlocked<D extends InboundDraft, T>(
  drafts: readonly D[],
  blocked: Set<string>,
  step: (unblocked: D[]) => Promise<T>,
): Promise<T> {
  try {
    return await step(drafts.filter(({ clientId }) => !blocked.has(clientId)));
  } catch (error) {
    if (!(error instanceof ClientsBeingDeleted)) throw error;
    for (const clientId of error.clientIds) blocked.add(clientId);
    return withoutBlocked(drafts, blocked, step);
  }
}

function errorsByWebhook(
  drafts: readonly InboundDraft[],
  blocked: ReadonlySet<string>,
): Map<number, ClientsBeingDeleted> {
  const clientsByWebhook = new Map<number, Set<string>>();
  if (blocked.size > 0)
    for (const { webhook, clientId } of drafts)
      if (blocked.has(clientId))
        clientsByWebhook.set(webhook, (clientsByWebhook.get(webhook) ?? new Set()).add(clientId));
  return new Map(
    [...clientsByWebhook].map(([webhook, clientIds]) => [webhook, new ClientsBeingDeleted([...clientIds])]),
  );
}
