import { addressOf, isEventOfKey } from "../../delivery/webhook-address.ts";
import { timeOfId } from "../../runtime/ids.ts";
import { JsonText } from "../../runtime/json/json.ts";
import type { EventKey, EventStatus, EventType, SkipReason } from "../../schema/enumerations.ts";
import type { EventDetailDto, EventDto } from "../../schema/events/event.ts";
import { toTimestamp } from "../../schema/times.ts";
import { eventHeaders } from "../../security/webhook-signature.ts";
import type { Database } from "../../store/database/database.ts";
import type { AttemptRow, EventRow } from "../../store/events/events.ts";
import { type EventFilters, type EventSearch, listEvents } from "../../store/events/list-events.ts";

/** Lists events like listEvents; an impossible search costs nothing. */
export const searchEvents = async (
  db: Database,
  clientId: string,
  search: EventSearch,
): Promise<EventRow[]> => (isImpossible(search.filters) ? [] : listEvents(db, clientId, search));

/** A type that never occurs with the key: the query would scan all events of either to find none. */
export const isImpossible = ({ key, type }: EventFilters): boolean =>
  key !== undefined && type !== undefined && !isEventOfKey(key as EventKey, type as EventType);

export const toEvent = (row: EventRow): EventDto => ({
  id: row.id,
  type: row.type as EventType,
  key: row.key as EventKey | null,
  channel_id: row.channel_id,
  ad_account_id: row.ad_account_id,
  status: row.status as EventStatus,
  skip_reason: row.status === "skipped" ? (row.skip_reason as SkipReason | null) : null,
  attempts: row.attempts,
  last_status_code: row.last_status_code,
  last_error: row.last_error,
  next_attempt_at: row.status === "pending" ? toTimestamp(row.next_attempt_at) : null,
  url: urlOf(row),
  occurred_at: toTimestamp(row.occurred_at),
  recorded_at: toTimestamp(new Date(timeOfId(row.id))),
  delivered_at: toTimestamp(row.delivered_at),
});

/** URL of the last attempt; before the first one, the URL by the current configuration. */
function urlOf({ url, webhook_url, key, type }: EventRow): string | null {
  if (url !== null || webhook_url === null) return url;
  return addressOf(webhook_url, key as EventKey | null, type as EventType);
}

export const toEventDetail = (
  row: EventRow & { payload: string },
  attempts: readonly AttemptRow[],
): EventDetailDto => ({
  ...toEvent(row),
  // The recorded text: parsing and serialising it again would round long integers.
  payload: new JsonText(row.payload),
  headers: eventHeaders(row),
  delivery_attempts: attempts.map(toDeliveryAttempt),
});

const toDeliveryAttempt = ({ at, ...attempt }: AttemptRow): EventDetailDto["delivery_attempts"][number] => ({
  ...attempt,
  at: toTimestamp(at),
});
