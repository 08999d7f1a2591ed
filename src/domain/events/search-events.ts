import { isEventOfKey } from "../../delivery/endpoints.ts";
import type { EventKey, EventType } from "../../schema/enumerations.ts";
import type { Database } from "../../store/database/database.ts";
import type { EventRow } from "../../store/events/events.ts";
import { type EventFilters, type EventSearch, listEvents } from "../../store/events/list-events.ts";

/** Lists events like listEvents; an impossible search costs nothing. */
export const searchEvents = async (
  db: Database,
  clientId: string,
  search: EventSearch,
): Promise<EventRow[]> => (isImpossible(search.filters) ? [] : listEvents(db, clientId, search));

/** A type that never occurs with the key: the query would scan all events of either to find none. */
const isImpossible = ({ key, type }: EventFilters): boolean =>
  key !== undefined && type !== undefined && !isEventOfKey(key as EventKey, type as EventType);
