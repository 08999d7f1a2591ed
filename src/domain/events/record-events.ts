import { hash } from "node:crypto";
import type { QueueNotifier } from "../../queue/queue-notifier.ts";
import { newId, timeOfId } from "../../runtime/ids.ts";
import { type JsonText, stringifyJson } from "../../runtime/json/json.ts";
import type { EventKey, EventType } from "../../schema/enumerations.ts";
import { API_VERSION } from "../../schema/version.ts";
import type { Queryable } from "../../store/database/database.ts";
import {
  hasFingerprint,
  insertEvents,
  LATE_AFTER_MS,
  type NewEvent,
} from "../../store/events/insert-events.ts";

/** Something that happened and is to be told to a client. */
export interface EventDraft {
  clientId: string;
  type: EventType;
  key: EventKey | null;
  channelId?: string | null;
  adAccountId?: string | null;
  externalRef?: string | null;
  /** The message of ours that it is about. */
  messageId?: string | null;
  /** When it happened, where somebody else knows better than our clock. */
  occurredAt?: Date | undefined;
  /** Normalised; or its JSON, where it contains what was not read. */
  data: object | JsonText;
  /** The platform's own words, as they came. */
  raw?: JsonText;
  /** What it is known by when it comes again; absent: it comes once. */
  dedupKey?: string;
}

/**
 * Inserts events and their deliveries in one statement, and returns those that were not recorded before. With a notifier the
 * dispatchers learn of them at once, so inside a transaction it must be that of notifyAfterCommit; without, within a second.
 */
export async function recordEvents(
  db: Queryable,
  drafts: readonly EventDraft[],
  notifier?: QueueNotifier,
): Promise<string[]> {
  const events = deduplicate(drafts).map((draft) => toNewEvent(newId("evt"), draft));
  if (events.length === 0) return [];
  const epoch = notifier?.epoch() ?? null;
  const recorded = await insertEvents(db, events, epoch);
  if (epoch !== null) notifier?.notify(recorded.filter(({ isDue }) => isDue));
  return recorded.map(({ id }) => id);
}

/** Whether it came before. */
export const isRecorded = (db: Queryable, clientId: string, dedupKey: string): Promise<boolean> =>
  hasFingerprint(db, clientId, fingerprintOf(dedupKey));

/** A batch may itself contain the same event twice. */
function deduplicate(drafts: readonly EventDraft[]): EventDraft[] {
  const seen = new Set<string>();
  return drafts.filter(({ clientId, dedupKey }) => {
    if (dedupKey === undefined) return true;
    const key = `${clientId} ${dedupKey}`;
    return !seen.has(key) && seen.add(key);
  });
}

/** The event as it is written down, its body as it will be sent. */
export function toNewEvent(id: string, draft: EventDraft): NewEvent {
  // Nothing is recorded before it happened: lists by time rely on it, whatever the platform's clock says, or ours.
  const [recorded, now] = [timeOfId(id), Date.now()];
  const occurredAt = new Date(Math.min(draft.occurredAt?.getTime() ?? now, now, recorded));
  const { type, key, dedupKey } = draft;
  return {
    client_id: draft.clientId,
    id,
    type,
    key,
    channel_id: draft.channelId ?? null,
    ad_account_id: draft.adAccountId ?? null,
    message_id: draft.messageId ?? null,
    occurred_at: occurredAt,
    is_late: recorded - occurredAt.getTime() > LATE_AFTER_MS,
    payload: payloadOf(id, draft, occurredAt),
    fingerprint: dedupKey === undefined ? null : fingerprintOf(dedupKey),
  };
}

/** The body as it will be sent, however often. */
function payloadOf(id: string, draft: EventDraft, occurredAt: Date): string {
  const { type, key, channelId, adAccountId, externalRef, data, raw } = draft;
  return stringifyJson({
    id,
    type,
    api_version: API_VERSION,
    key,
    ...(channelId ? { channel_id: channelId } : {}),
    ...(adAccountId ? { ad_account_id: adAccountId } : {}),
    ...(externalRef ? { external_ref: externalRef } : {}),
    occurred_at: occurredAt.toISOString(),
    data,
    ...(raw ? { raw } : {}),
  });
}

/** 128 bits of a hash, in the form that the database keeps in the least space. */
const fingerprintOf = (dedupKey: string): string => hash("sha256", dedupKey).slice(0, 32);
