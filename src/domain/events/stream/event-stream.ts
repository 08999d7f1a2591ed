import { addressOf } from "../../../delivery/webhook-address.ts";
import { JsonText } from "../../../runtime/json/json.ts";
import type { EventKey, EventType } from "../../../schema/enumerations.ts";
import type { Database } from "../../../store/database/database.ts";
import { findEvent } from "../../../store/events/events.ts";
import type { Mark } from "../../../store/events/stream-marks.ts";
import {
  readStreamPage,
  type StreamFilters,
  type StreamPage,
  type StreamRange,
  type StreamRow,
} from "../../../store/events/stream-pages.ts";
import { isRangeBefore, nextRange, type StreamCursor } from "./cursor.ts";
import type { StreamPoller, Waiting } from "./poller.ts";

/** An event as a reader gets it. */
export interface StreamItem {
  event_id: string;
  type: EventType;
  key: EventKey | null;
  path: string | null;
  replay: boolean;
  payload: JsonText;
}

/** Items with the cursor of a reader that has them, oldest first. */
export interface ItemPage {
  items: { item: StreamItem; cursor: StreamCursor }[];
  /** True when more events are known to follow. */
  hasMore: boolean;
}

interface StreamParts {
  db: Database;
  poller: StreamPoller;
}

export interface StreamRequest {
  clientId: string;
  filters: StreamFilters;
  /** Where it begins; undefined: now. */
  start: StreamCursor | undefined;
  /** Limits of a page; one item may be larger. */
  maxRows: number;
  maxBytes: number;
}

/** One reader of a client's events. */
export interface EventStream {
  /** How far the reader has read. */
  cursor(): StreamCursor;
  /** Returns the next page at once; without items when there are none. */
  read(): Promise<ItemPage>;
  /** Waits up to `milliseconds` for the next page, which may have no items. */
  wait(milliseconds: number): Promise<ItemPage>;
  /** Sends an event again, with a later page. */
  replay(eventId: string): void;
  /** Ends the wait. */
  stopWaiting(): void;
}

/** Events to send again that may wait for a slow reader; further ones are dropped. */
const MAX_REPLAYS = 100;

const NO_ITEMS: ItemPage = { items: [], hasMore: false };

/** Opens a stream. The poller's mark is made anew unless it is recent and known to be later than the cursor. */
export async function openEventStream(
  { db, poller }: StreamParts,
  { clientId, filters, start, ...limits }: StreamRequest,
): Promise<EventStream> {
  const recent = poller.recentMark();
  if (!start || !recent || !isRangeBefore(start, recent)) await poller.refresh();
  const replays: string[] = [];
  const latest = () => poller.mark() as Mark;
  let cursor: StreamCursor = start ?? { from: latest() };
  let waiting: Waiting | undefined;

  function toPage({ from, to }: StreamRange, { rows, position }: StreamPage): ItemPage {
    const items = rows.map((row) => ({ item: toItem(row, false), cursor: { from, to, after: row.id } }));
    cursor = position === undefined ? { from: to } : { from, to, after: position };
    return { items, hasMore: hasNews() };
  }

  async function readOwn(maxRows = limits.maxRows): Promise<ItemPage> {
    const range = nextRange(cursor, latest());
    return toPage(range, await readStreamPage(db, [clientId], range, { filters, ...limits, maxRows }));
  }

  /** A range that ends at an older mark is followed by the one up to the poller's. */
  async function readTwice(): Promise<ItemPage> {
    const page = await readOwn();
    const rest = limits.maxRows - page.items.length;
    if (cursor.to !== undefined || !page.hasMore || rest === 0) return page;
    const { items, hasMore } = await readOwn(rest);
    return { items: [...page.items, ...items], hasMore };
  }

  async function readReplay(): Promise<ItemPage> {
    const row = await findEvent(db, clientId, replays.shift() as string);
    const items = row && matches(row, filters) ? [{ item: toItem(row, true), cursor }] : [];
    return { items, hasMore: replays.length > 0 || hasNews() };
  }

  async function waitForNews(milliseconds: number): Promise<ItemPage> {
    waiting = poller.wait(clientId, cursor.from as Mark);
    const timer = setTimeout(waiting.cancel, milliseconds);
    const news = await waiting.news;
    clearTimeout(timer);
    return toPage(news, firstMatches(news, filters, limits));
  }

  const hasNews = () => cursor.to !== undefined || cursor.from !== latest();
  const readNow = () => {
    if (replays.length > 0) return readReplay();
    return hasNews() ? readTwice() : undefined;
  };
  return {
    cursor: () => cursor,
    read: async () => (await readNow()) ?? NO_ITEMS,
    wait: (milliseconds) => readNow() ?? waitForNews(milliseconds),
    replay(eventId) {
      if (replays.length < MAX_REPLAYS) replays.push(eventId);
      waiting?.cancel();
    },
    stopWaiting: () => waiting?.cancel(),
  };
}

type PageLimits = Pick<StreamRequest, "maxRows" | "maxBytes">;

/** Returns the first page of the rows that match. */
function firstMatches(page: StreamPage, filters: StreamFilters, limits: PageLimits): StreamPage {
  const rows: StreamRow[] = [];
  let bytes = 0;
  for (const row of page.rows) {
    if (!matches(row, filters)) continue;
    if (rows.length === limits.maxRows || bytes >= limits.maxBytes)
      return { rows, position: rows.at(-1)?.id };
    rows.push(row);
    bytes += row.payload.length;
  }
  return { rows, position: page.position };
}

type MatchedRow = Pick<StreamRow, "type" | "key" | "channel_id">;

/** An event without key matches no filter by key. */
const matches = (row: MatchedRow, { types, keys, channelId }: StreamFilters): boolean =>
  (types === undefined || types.includes(row.type)) &&
  (keys === undefined || (row.key !== null && keys.includes(row.key))) &&
  (channelId === undefined || row.channel_id === channelId);

function toItem(row: Omit<StreamRow, "client_id">, replay: boolean): StreamItem {
  const [type, key] = [row.type as EventType, row.key as EventKey | null];
  const path = addressOf("", key, type) || null;
  return { event_id: row.id, type, key, path, replay, payload: new JsonText(row.payload) };
}
