import type { StreamLimit, StreamPlaces } from "../../../queue/stream-places.ts";
import type { StreamSignals } from "../../../queue/stream-signals.ts";
import { onAbort, pause, withTimeout } from "../../../runtime/async/timeouts-and-retries.ts";
import { SECOND } from "../../../runtime/durations.ts";
import type { Metrics } from "../../../runtime/metrics.ts";
import type { Database } from "../../../store/database/database.ts";
import { type EventStream, openEventStream, type StreamRequest } from "./event-stream.ts";
import type { StreamPoller } from "./poller.ts";

/** A reader that keeps its request open: it has a place until it leaves. */
export interface Reader {
  /** Aborted when the reader is to be answered with what it has, or its stream to be ended. */
  ended: AbortSignal;
  leave(): void;
}

export interface ReaderRequest {
  clientId: string;
  /** Identifies the credential for its limit. */
  credential: string;
  stream: EventStream;
  /** False once the credential no longer allows the request. Rejects when that cannot be found out. */
  isAllowed(): Promise<boolean>;
}

/** All event streams of this process. */
export interface OpenStreams {
  /** Opens a stream, without a place for its reader. */
  open(db: Database, request: StreamRequest): Promise<EventStream>;
  /** Takes a place for a reader, or returns the limit that is reached. */
  enter(request: ReaderRequest): Promise<Reader | StreamLimit>;
  /** Sends an event again to the client's open streams, also those of other processes. */
  replay(clientId: string, eventId: string): void;
}

interface OpenStreamsParts {
  poller: StreamPoller;
  places: StreamPlaces;
  signals: StreamSignals;
  metrics: Pick<Metrics, "eventStreams">;
  /** Aborted at shutdown: ends all streams. */
  stopping: AbortSignal;
}

/** Together with the time for which credentials are cached, below the 10 s within which a stream ends. */
const CHECK_INTERVAL_MS = 4 * SECOND;
const MAX_CHECK_MS = 100;

/** A reader that waits again and again does not connect to Redis each time. */
const LISTEN_WITHOUT_STREAMS_MS = 30 * SECOND;

interface Entry extends ReaderRequest {
  ending: AbortController;
}

export function createOpenStreams(parts: OpenStreamsParts): OpenStreams {
  const { poller, places, signals, metrics, stopping } = parts;
  const entries = new Set<Entry>();
  let listening: Promise<() => void> | undefined;
  let isChecking = false;
  let silence: NodeJS.Timeout | undefined;

  function end(entry: Entry): void {
    entry.ending.abort();
    entry.stream.stopWaiting();
  }

  async function checkCredential(entry: Entry): Promise<void> {
    const isAllowed = await entry.isAllowed().catch(() => true); // an outage ends no stream
    if (!isAllowed) end(entry);
  }

  /** One after the other, because each may be a statement; a slow one does not delay the others. */
  async function checkCredentials(): Promise<void> {
    while (entries.size > 0 && !stopping.aborted) {
      await pause(CHECK_INTERVAL_MS, stopping);
      for (const entry of entries) await withTimeout(MAX_CHECK_MS, checkCredential(entry), () => {});
    }
    isChecking = false;
  }

  function stopListening(): void {
    clearTimeout(silence);
    listening?.then((stop) => stop());
    listening = undefined;
  }

  const listener = {
    onNewEvents: poller.wake,
    onReplay(clientId: string, eventId: string) {
      for (const entry of entries) if (entry.clientId === clientId) entry.stream.replay(eventId);
    },
  };

  async function add(entry: Entry): Promise<void> {
    entries.add(entry);
    metrics.eventStreams.set(entries.size);
    if (stopping.aborted) return;
    if (!isChecking) checkCredentials();
    isChecking = true;
    clearTimeout(silence);
    listening ??= signals.listen(listener);
    await listening;
  }

  function remove(entry: Entry): void {
    if (!entries.delete(entry)) return;
    metrics.eventStreams.set(entries.size);
    if (entries.size > 0 || stopping.aborted) return;
    silence = setTimeout(stopListening, LISTEN_WITHOUT_STREAMS_MS);
  }

  onAbort(stopping, () => {
    for (const entry of entries) end(entry);
    stopListening();
  });
  return {
    open: (db, request) => openEventStream({ db, poller }, request),
    async enter(request) {
      const leave = await places.take(request.clientId, request.credential);
      if (typeof leave === "string") return leave;
      const entry: Entry = { ...request, ending: new AbortController() };
      if (stopping.aborted) end(entry);
      await add(entry);
      return {
        ended: entry.ending.signal,
        leave() {
          remove(entry);
          leave();
        },
      };
    },
    replay: signals.publishReplay,
  };
}
