import { hash } from "node:crypto";
import type { Reading } from "../../platforms/webhooks/updates.ts";
import type { EventNotifier } from "../../queue/wake-ups.ts";
import { collectInSlices } from "../../runtime/async/time-slices.ts";
import { newId, timeOfId } from "../../runtime/ids.ts";
import { JsonText, stringifyJson } from "../../runtime/json/json.ts";
import type { EventKey, EventType } from "../../schema/enumerations.ts";
import { API_VERSION } from "../../schema/enumerations.ts";
import { adjustIdClock } from "../../store/database/clock.ts";
import type { Database, Queryable } from "../../store/database/database.ts";
import {
  hasFingerprint,
  insertEvents,
  LATE_AFTER_MS,
  type NewEvent,
  StaleIds,
} from "../../store/events/insert-events.ts";

/** An event to record for a client. */
export interface EventDraft {
  clientId: string;
  type: EventType;
  key: EventKey | null;
  channelId?: string | null;
  adAccountId?: string | null;
  /** The message's or the signup session's own reference. */
  externalRef?: string | null;
  channelExternalRef?: string | null;
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
  /** Set for an event made from an example: its ids name no objects, so only its payload has them. */
  test?: true;
}

/** An event draft for one owner of a webhook's update. */
export interface InboundDraft extends EventDraft {
  /** The update that the draft was made from. */
  reading: Reading;
  /** Index of its webhook among those that are received together. */
  webhook: number;
}

/** The outcome of recording a draft. */
export interface DraftOutcome {
  webhook: number;
  /** Undefined when the event was recorded before. */
  eventId: string | undefined;
  messageId: string | undefined;
}

/** One statement inserts events up to this total size: building its parameters occupies the event loop. */
const MAX_BATCH_CHARACTERS = 1_000_000;

/**
 * Inserts events with their deliveries. Returns the id of each draft's event, undefined when it was recorded before or its
 * client is deleted; a crash between two batches leaves the rest to the platform's repetition. A notifier (in a transaction:
 * that of notifyAfterCommit) wakes a dispatcher; without one the poll finds them within a second.
 */
export async function recordEvents(
  db: Queryable,
  drafts: readonly EventDraft[],
  notifier?: EventNotifier,
): Promise<(string | undefined)[]> {
  const places = placesOfDistinct(drafts);
  const ids = new Array<string | undefined>(drafts.length).fill(undefined);
  let begun = 0;
  while (begun < places.length) {
    const rest = places.slice(begun);
    const { events, recorded } = await recordBatch(
      db,
      rest.map((place) => drafts[place] as EventDraft),
    );
    notifier?.notify(recorded.filter(({ isDue }) => isDue).map(({ clientId }) => clientId));
    const recordedIds = new Set(recorded.map(({ id }) => id));
    for (const [index, { id }] of events.entries()) if (recordedIds.has(id)) ids[rest[index] as number] = id;
    begun += events.length;
  }
  return ids;
}

/** Dependencies of code that records events in a transaction with further rows. */
export interface RecordParts {
  db: Database;
  notifier: EventNotifier;
}

/** Records the events of webhooks and returns the outcome of each draft. */
export async function recordInbound(
  db: Queryable,
  drafts: readonly InboundDraft[],
  notifier: EventNotifier,
): Promise<DraftOutcome[]> {
  const eventIds = await recordEvents(db, drafts, notifier);
  return drafts.map(({ webhook, messageId }, place) => ({
    webhook,
    eventId: eventIds[place],
    messageId: messageId ?? undefined,
  }));
}

/** How often ids are made for a batch: the first ones may be too old, or be made with a wrong clock. */
const MAX_ID_ATTEMPTS = 3;

/** Records the first drafts, as many as one statement takes. Ids are made just before it. */
async function recordBatch(db: Queryable, drafts: readonly EventDraft[]) {
  for (let attempt = 1; ; attempt++) {
    const events = await collectInSlices(nextBatch(drafts));
    try {
      return { events, recorded: await insertEvents(db, events) };
    } catch (error) {
      if (!(error instanceof StaleIds) || attempt === MAX_ID_ATTEMPTS) throw error;
      await adjustIdClock(db);
    }
  }
}

function* nextBatch(drafts: readonly EventDraft[]): Generator<NewEvent> {
  let characters = 0;
  for (const draft of drafts) {
    const event = toNewEvent(newId("evt"), draft);
    characters += event.payload.length;
    if (characters > MAX_BATCH_CHARACTERS && characters > event.payload.length) return;
    yield event;
  }
}

/** True when an event with this key was recorded before. */
export const isRecorded = (db: Queryable, clientId: string, dedupKey: string): Promise<boolean> =>
  hasFingerprint(db, clientId, fingerprintOf(dedupKey));

/** The index of each event's first draft: the drafts may contain the same event twice. */
function placesOfDistinct(drafts: readonly EventDraft[]): number[] {
  const seen = new Set<string>();
  const places: number[] = [];
  for (const [place, { clientId, dedupKey }] of drafts.entries()) {
    const key = `${clientId} ${dedupKey}`;
    if (dedupKey !== undefined && seen.has(key)) continue;
    seen.add(key);
    places.push(place);
  }
  return places;
}

/** Returns the columns of the event, including the request body. */
export function toNewEvent(id: string, draft: EventDraft): NewEvent {
  // Lists by time rely on no event being recorded before it occurred, even if the platform's clock is wrong.
  const recorded = timeOfId(id);
  const occurredAt = new Date(Math.min(draft.occurredAt?.getTime() ?? recorded, recorded));
  const { type, key, dedupKey } = draft;
  return {
    client_id: draft.clientId,
    id,
    type,
    key,
    ...(draft.test ? NO_OBJECTS : objectsOf(draft)),
    occurred_at: occurredAt,
    is_late: recorded - occurredAt.getTime() > LATE_AFTER_MS,
    payload: payloadOf(id, draft, { occurredAt, recordedAt: new Date(recorded) }),
    fingerprint: dedupKey === undefined ? null : fingerprintOf(dedupKey),
  };
}

const objectsOf = ({ channelId, adAccountId, messageId }: EventDraft) => ({
  channel_id: channelId ?? null,
  ad_account_id: adAccountId ?? null,
  message_id: messageId ?? null,
});

const NO_OBJECTS = { channel_id: null, ad_account_id: null, message_id: null };

/**
 * The request body, the same for every attempt. Built as text, because serialising the data and the platform's JSON
 * again would double the cost of a webhook. The other values are ids and enumerations, which need no escapes.
 */
function payloadOf(
  id: string,
  draft: EventDraft,
  { occurredAt, recordedAt }: { occurredAt: Date; recordedAt: Date },
): string {
  const { type, key, channelId, adAccountId, externalRef, channelExternalRef, data, raw, test } = draft;
  const testText = test ? ',"test":true' : "";
  const keyText = key === null ? "null" : `"${key}"`;
  const channel = channelId ? `,"channel_id":"${channelId}"` : "";
  const adAccount = adAccountId ? `,"ad_account_id":${JSON.stringify(adAccountId)}` : "";
  const reference = externalRef ? `,"external_ref":${JSON.stringify(externalRef)}` : "";
  const channelReference = channelExternalRef
    ? `,"channel_external_ref":${JSON.stringify(channelExternalRef)}`
    : "";
  const times = `"occurred_at":"${occurredAt.toISOString()}","recorded_at":"${recordedAt.toISOString()}"`;
  const dataText = data instanceof JsonText ? data.text : stringifyJson(data);
  const rawText = raw ? `,"raw":${raw.text}` : "";
  return `{"id":"${id}"${testText},"type":"${type}","api_version":"${API_VERSION}","key":${keyText}${channel}${adAccount}${reference}${channelReference},${times},"data":${dataText}${rawText}}`;
}

/** 128 bits of a hash, stored compactly as a uuid. */
const fingerprintOf = (dedupKey: string): string => hash("sha256", dedupKey).slice(0, 32);
