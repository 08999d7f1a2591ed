import type { StreamLimit, StreamPlaces } from "../../../queue/stream-places.ts";
import type { StreamSignals } from "../../../queue/stream-signals.ts";
import { onAbort } from "../../../runtime/async/timeouts-and-retries.ts";
import { SECOND } from "../../../runtime/durations.ts";
import type { Metrics } from "../../../runtime/metrics.ts";
import type { Database } from "../../../store/database/database.ts";
import { type EventStream, openEventStream, type StreamRequest } from "./event-stream.ts";
import type { StreamPoller } from "./poller.ts";

/** A reader that keeps its request open: it has a place until it leaves. */
export interface Reader {
  /** True when the reader is to be answered with what it has, or its stream to be ended. */
  isEnded(): boolean;
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

interface Entry extends ReaderRequest {
  isEnded: boolean;
}

export function createOpenStreams(parts: OpenStreamsParts): OpenStreams {
  const { poller, places, signals, metrics, stopping } = parts;
  const entries = new Set<Entry>();
  let listening: Promise<() => void> | undefined;
  let timer: NodeJS.Timeout | undefined;

  function end(entry: Entry): void {
    entry.isEnded = true;
    entry.stream.stopWaiting();
  }

  async function checkCredential(entry: Entry): Promise<void> {
    const isAllowed = await entry.isAllowed().catch(() => true); // an outage ends no stream
    if (!isAllowed) end(entry);
  }

  function checkAll(): void {
    for (const entry of entries) checkCredential(entry);
  }

  const listener = {
    onNewEvents: poller.wake,
    onReplay(clientId: string, eventId: string) {
      for (const entry of entries) if (entry.clientId === clientId) entry.stream.replay(eventId);
    },
  };

  function add(entry: Entry): Promise<unknown> {
    entries.add(entry);
    metrics.eventStreams.set(entries.size);
    timer ??= setInterval(checkAll, CHECK_INTERVAL_MS);
    listening ??= signals.listen(listener);
    return listening;
  }

  function remove(entry: Entry): void {
    if (!entries.delete(entry)) return;
    metrics.eventStreams.set(entries.size);
    if (entries.size > 0) return;
    clearInterval(timer);
    timer = undefined;
    listening?.then((stop) => stop());
    listening = undefined;
  }

  onAbort(stopping, () => {
    for (const entry of entries) end(entry);
  });
  return {
    open: (db, request) => openEventStream({ db, poller }, request),
    async enter(request) {
      const leave = await places.take(request.clientId, request.credential);
      if (typeof leave === "string") return leave;
      const entry: Entry = { ...request, isEnded: stopping.aborted };
      await add(entry);
      return {
        isEnded: () => entry.isEnded,
        leave() {
          remove(entry);
          leave();
        },
      };
    },
    replay: signals.publishReplay,
  };
}
