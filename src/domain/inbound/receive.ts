import type { Reading } from "../../platforms/webhooks/reading.ts";
import type { EventNotifier } from "../../queue/wake-ups.ts";
import type { Database } from "../../store/database/database.ts";
import { recordEvents } from "../events/record-events.ts";
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
  notifier: EventNotifier;
}

/**
 * Records all updates of the webhooks that have an owner, in a few statements regardless of their number. May be repeated.
 */
export async function receiveWebhooks(
  parts: ReceiveParts,
  webhooks: readonly Updates[],
): Promise<ReceiveResult[]> {
  const ownersOf = await findOwners(
    parts.db,
    webhooks.flatMap((updates) => updates.filter((reading) => reading !== undefined)),
  );
  const results = webhooks.map(({ length }) => newResult(length));
  const drafts = webhooks.flatMap((updates, webhook) =>
    toDrafts({ updates, webhook, result: results[webhook] as ReceiveResult }, ownersOf),
  );
  await recordDrafts(parts, drafts, results);
  return results;
}

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
 * Adds the outcomes to the results. Messages and templates are updated first: after a crash in between the platform repeats
 * the unacknowledged webhooks.
 */
async function recordDrafts(
  parts: ReceiveParts,
  allDrafts: readonly InboundDraft[],
  results: readonly ReceiveResult[],
): Promise<void> {
  const named = allDrafts.filter((draft) => !isWatermarkDraft(draft));
  const drafts = await cacheTemplateUpdates(parts.db, await applyStatuses(parts.db, named));
  addOutcomes(results, await recordNamed(parts, drafts));
  const watermarks = await applyWatermarks(parts, allDrafts.filter(isWatermarkDraft));
  addOutcomes(results, watermarks.outcomes);
  for (const { webhook } of watermarks.silent) (results[webhook] as ReceiveResult).counts.silent += 1;
}

async function recordNamed(parts: ReceiveParts, drafts: readonly InboundDraft[]): Promise<DraftOutcome[]> {
  if (drafts.some(({ reading }) => reading.endsConnection)) return recordAndDisconnect(parts, drafts);
  return toOutcomes(drafts, await recordEvents(parts.db, drafts, parts.notifier));
}
