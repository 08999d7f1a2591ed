import { MAX_TRANSACTION_AGE_MS } from "../../../runtime/deadlines.ts";
import { MINUTE, SECOND } from "../../../runtime/durations.ts";
import { createOutageLogger, type Log } from "../../../runtime/log.ts";
import type { Database } from "../../../store/database/database.ts";
import { type Mark, type OpenTransactions, takeMark } from "../../../store/events/stream-marks.ts";
import {
  readStreamPage,
  type StreamPage,
  type StreamRange,
  type StreamRow,
} from "../../../store/events/stream-pages.ts";
import { nextRange } from "./cursor.ts";

/** New events of a client: the first ones, or all, of those committed between two marks. */
export interface News extends StreamPage, Pick<StreamRange, "from" | "to"> {}

export interface Waiting {
  news: Promise<News>;
  /** Ends the wait without events: the news then end at the mark of this moment. */
  cancel(): void;
}

/** Reads the new events of all streams of this process together. */
export interface StreamPoller {
  /** The mark of the last read, undefined before the first. Readers that wait have everything that was committed at it. */
  mark(): Mark | undefined;
  /** The mark, if it is at most a second old. */
  recentMark(): Mark | undefined;
  /** Takes a new mark: resolves after a read that began after this call. Rejects while Postgres is not available. */
  refresh(): Promise<void>;
  /** Waits for events that are committed after `from`. Ends at once if that is no longer the poller's mark. */
  wait(clientId: string, from: Mark): Waiting;
  /** Reads soon if one of the clients waits. */
  wake(clientIds: Iterable<string>): void;
}

const POLL_INTERVAL_MS = 1 * SECOND;
const MIN_INTERVAL_MS = 100;
/** Reads take up to this share of the time: while many events wait for an open transaction, a read takes longer. */
const MAX_BUSY_SHARE = 0.1;
const PAGE = { maxRows: 500, maxBytes: 2_000_000 };
/** With more, busy clients would hold much memory at once. */
const MAX_FURTHER_PAGES = 3;
const LOG_INTERVAL_MS = 1 * MINUTE;

interface Waiter {
  clientId: string;
  /** False while a read runs that began before the waiter came. */
  isIncluded: boolean;
  resolve(news: News): void;
}

interface Refresh {
  resolve(): void;
  reject(error: unknown): void;
}

export function createStreamPoller({ db, log }: { db: Database; log: Log }): StreamPoller {
  const waiters = new Set<Waiter>();
  const outageLogger = createOutageLogger(log, {
    unavailable: "event_stream.read_failed",
    recovered: "event_stream.read_recovered",
  });
  const report = createTransactionReport(log);
  let refreshes: Refresh[] = [];
  let mark: Mark | undefined;
  let markedAt = 0;
  let timer: NodeJS.Timeout | undefined;
  let isReading = false;
  /** When the next read begins, if it is not postponed to `earliestAt`. */
  let wantedAt = Number.POSITIVE_INFINITY;
  let earliestAt = 0;

  function schedule(at: number): void {
    if (at >= wantedAt) return;
    wantedAt = at;
    if (isReading) return;
    clearTimeout(timer);
    timer = setTimeout(run, Math.max(0, Math.max(at, earliestAt) - performance.now()));
  }

  async function run(): Promise<void> {
    wantedAt = Number.POSITIVE_INFINITY;
    const begun = refreshes;
    refreshes = [];
    if (begun.length === 0 && waiters.size === 0) return;
    const startedAt = performance.now();
    isReading = true;
    try {
      await read();
      outageLogger.recovered();
      for (const { resolve } of begun) resolve();
    } catch (error) {
      outageLogger.failed(error);
      for (const { reject } of begun) reject(error);
    }
    isReading = false;
    earliestAt = nextReadAfter(startedAt);
    const at = waiters.size > 0 ? Math.min(wantedAt, startedAt + POLL_INTERVAL_MS) : wantedAt;
    wantedAt = Number.POSITIVE_INFINITY;
    schedule(at);
  }

  /** Gives each waiter its rows. One that came meanwhile reads them itself, from the mark at which it began to wait. */
  async function read(): Promise<void> {
    for (const waiter of waiters) waiter.isIncluded = true;
    const clientIds = [...new Set([...waiters].map(({ clientId }) => clientId))];
    const from = mark;
    const { mark: to, transactions } = await takeMark(db);
    report(transactions);
    const range = from && nextRange({ from }, to);
    const pages = range && (await readPages(clientIds, range));
    [mark, markedAt] = [to, performance.now()];
    if (!range) return;
    for (const waiter of [...waiters]) {
      const page = pages?.get(waiter.clientId);
      if (!waiter.isIncluded) waiter.resolve(noNews(from as Mark));
      else if (page) waiter.resolve({ ...page, from: range.from, to });
    }
  }

  /** The first page of each client with new events. After a page that was cut, it reads on for the clients that are not in it. */
  async function readPages(
    clientIds: readonly string[],
    range: StreamRange,
  ): Promise<Map<string, StreamPage>> {
    const pages = new Map<string, StreamPage>();
    let rest = [...clientIds];
    for (let read = 0; rest.length > 0; read++) {
      const { rows, position } = await readStreamPage(db, rest, range, PAGE);
      for (const [clientId, own] of groupByClient(rows)) pages.set(clientId, { rows: own, position });
      if (position === undefined) return pages;
      rest = rest.filter((clientId) => !pages.has(clientId));
      // Each of them has no events up to the position, and reads on by itself.
      if (read === MAX_FURTHER_PAGES)
        for (const clientId of rest.splice(0)) pages.set(clientId, { rows: [], position });
    }
    return pages;
  }

  return {
    mark: () => mark,
    recentMark: () => (performance.now() - markedAt <= POLL_INTERVAL_MS ? mark : undefined),
    refresh: () =>
      new Promise((resolve, reject) => {
        refreshes.push({ resolve, reject });
        schedule(performance.now());
      }),
    wait(clientId, from) {
      if (from !== mark) return { news: Promise.resolve(noNews(from)), cancel() {} };
      let settle: Waiter["resolve"] = () => {};
      const news = new Promise<News>((resolve) => {
        settle = resolve;
      });
      const waiter: Waiter = { clientId, isIncluded: false, resolve: end };
      function end(found: News): void {
        waiters.delete(waiter);
        settle(found);
      }
      waiters.add(waiter);
      schedule(performance.now() + POLL_INTERVAL_MS);
      // Its mark is the one of now, not of the later turn in which the reader goes on.
      return { news, cancel: () => end(noNews(mark as Mark)) };
    },
    wake(clientIds) {
      const woken = new Set(clientIds);
      for (const { clientId } of waiters) if (woken.has(clientId)) return schedule(performance.now());
    },
  };
}

const noNews = (mark: Mark): News => ({ rows: [], position: undefined, from: mark, to: mark });

/** The earliest time of the next read. */
function nextReadAfter(startedAt: number): number {
  const now = performance.now();
  const pauseEndsAt = Math.max(startedAt + MIN_INTERVAL_MS, now + (now - startedAt) / MAX_BUSY_SHARE);
  return Math.min(startedAt + POLL_INTERVAL_MS, pauseEndsAt);
}

function groupByClient(rows: readonly StreamRow[]): Map<string, StreamRow[]> {
  const groups = new Map<string, StreamRow[]>();
  for (const row of rows) {
    const group = groups.get(row.client_id);
    if (group) group.push(row);
    else groups.set(row.client_id, [row]);
  }
  return groups;
}

/** Logs transactions for which the stream does not wait, once a minute at most. */
function createTransactionReport(log: Log) {
  const loggedAt = { old: Number.NEGATIVE_INFINITY, hidden: Number.NEGATIVE_INFINITY };
  const isDue = (kind: keyof typeof loggedAt): boolean => {
    if (performance.now() - loggedAt[kind] < LOG_INTERVAL_MS) return false;
    loggedAt[kind] = performance.now();
    return true;
  };
  return ({ at, oldest, areHidden }: OpenTransactions): void => {
    const age = at - (oldest ?? at);
    if (age > MAX_TRANSACTION_AGE_MS && isDue("old"))
      log.warn("event_stream.transaction_too_old", { seconds: Math.round(age / SECOND) });
    if (areHidden && isDue("hidden")) log.info("event_stream.transactions_hidden");
  };
}
