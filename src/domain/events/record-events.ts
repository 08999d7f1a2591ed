import { hash } from "node:crypto";
import type { QueueNotifier } from "../../queue/queue-notifier.ts";
import { collectInSlices } from "../../runtime/async/time-slices.ts";
import { newId, timeOfId } from "../../runtime/ids.ts";
import { type JsonText, stringifyJson } from "../../runtime/json/json.ts";
import type { EventKey, EventType } from "../../schema/enumerations.ts";
import { API_VERSION } from "../../schema/version.ts";
import type { Queryable } from "../../store/database/database.ts";
import {
  hasFingerprint,
  insertEvents,
  insertUnblockedEvents,
  LATE_AFTER_MS,
  type NewEvent,
  type RecordedEvent,
} from "../../store/events/insert-events.ts";
import { throwIfBlocked } from "../../store/tenants/client-locks.ts";

/** An event to record for a client. */
export interface EventDraft {
  clientId: string;
  type: EventType;
  key: EventKey | null;
  channelId?: string | null;
  adAccountId?: string | null;
  externalRef?: string | null;
  /** The outbound message that the event is about. */
  messageId?: string | null;
  /** Set when the platform reports the time; otherwise the event occurs now. */
  occurredAt?: Date | undefined;
  /** Normalised data, or its JSON text when it contains parts that were not parsed. */
  data: object | JsonText;
  /** The platform's original JSON. */
  raw?: JsonText;
  /** Identifies repetitions of the event; absent for an event that cannot repeat. */
  dedupKey?: string;
}

/** One statement inserts events up to this total size: building its text occupies the event loop. */
const MAX_BATCH_CHARACTERS = 1_000_000;

/**
 * Inserts events with their deliveries and returns the ids of the new ones; a crash between two batches leaves
 * the rest to the platform's repetition. A notifier queues them immediately (in a transaction: that of
 * notifyAfterCommit); without one the sweep does within a second.
 */
export async function recordEvents(
  db: Queryable,
  drafts: readonly EventDraft[],
  notifier?: QueueNotifier,
): Promise<string[]> {
  return insertInBatches({ drafts, notifier }, (events, epoch) => insertEvents(db, events, epoch));
}

/**
 * Like recordEvents, but does not wait for clients that are being deleted: it records the events of the other
 * clients and throws ClientsBeingDeleted. In a transaction, that rolls all of them back.
 */
export async function recordUnblockedEvents(
  db: Queryable,
  drafts: readonly EventDraft[],
  notifier: QueueNotifier,
): Promise<string[]> {
  const blocked: string[] = [];
  const ids = await insertInBatches({ drafts, notifier }, async (events, epoch) => {
    const { recorded, blockedClients } = await insertUnblockedEvents(db, events, epoch);
    blocked.push(...blockedClients);
    return recorded;
  });
  throwIfBlocked(blocked);
  return ids;
}

interface Recording {
  drafts: readonly EventDraft[];
  notifier: QueueNotifier | undefined;
}

/** Returns the ids of the new events. */
async function insertInBatches(
  { drafts, notifier }: Recording,
  insert: (events: readonly NewEvent[], epoch: string | null) => Promise<RecordedEvent[]>,
): Promise<string[]> {
  const events = await collectInSlices(toNewEvents(deduplicate(drafts)));
  const ids: string[] = [];
  for (const batch of toBatches(events)) {
    const epoch = notifier?.epoch() ?? null;
    const recorded = await insert(batch, epoch);
    if (epoch !== null) notifier?.notify(recorded.filter(({ isDue }) => isDue));
    for (const { id } of recorded) ids.push(id);
  }
  return ids;
}

function toBatches(events: readonly NewEvent[]): NewEvent[][] {
  const batches: NewEvent[][] = [];
  let characters = Number.POSITIVE_INFINITY;
  for (const event of events) {
    characters += event.payload.length;
    if (characters > MAX_BATCH_CHARACTERS) {
      batches.push([]);
      characters = event.payload.length;
    }
    batches.at(-1)?.push(event);
  }
  return batches;
}

/** True when an event with this key was recorded before. */
export const isRecorded = (db: Queryable, clientId: string, dedupKey: string): Promise<boolean> =>
  hasFingerprint(db, clientId, fingerprintOf(dedupKey));

/** A batch may contain the same event twice. */
function deduplicate(drafts: readonly EventDraft[]): EventDraft[] {
  const seen = new Set<string>();
  return drafts.filter(({ clientId, dedupKey }) => {
    if (dedupKey === undefined) return true;
    const key = `${clientId} ${dedupKey}`;
    return !seen.has(key) && seen.add(key);
  });
}

function* toNewEvents(drafts: readonly EventDraft[]): Generator<NewEvent> {
  for (const draft of drafts) yield toNewEvent(newId("evt"), draft);
}

/** Returns the columns of the event, including the request body. */
export function toNewEvent(id: string, draft: EventDraft): NewEvent {
  // Lists by time rely on no event being recorded before it occurred, even if the platform's clock is wrong.
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

/** The request body, the same for every attempt. */
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

/** 128 bits of a hash, stored compactly as a uuid. */
const fingerprintOf = (dedupKey: string): string => hash("sha256", dedupKey).slice(0, 32);
