import type { Redis } from "ioredis";
import { onAbort, pause } from "../runtime/async/timeouts-and-retries.ts";
import { SECOND } from "../runtime/durations.ts";
import type { ReadConnector, RedisClient } from "./redis.ts";
import { BLOCK_MS, createBlockingReader, entriesOf, taggedKey, tagOf } from "./wake-ups.ts";

/**
 * What Redis tells the event streams of every web process: which clients have new events, and which events are sent again. All
 * processes read all entries, without a group. New events are found without them, a second later.
 */

interface SignalParts {
  redis: RedisClient;
  tags: readonly number[];
  connect: ReadConnector;
}

export interface SignalListener {
  onNewEvents(clientIds: Iterable<string>): void;
  onReplay(clientId: string, eventId: string): void;
}

export interface StreamSignals {
  /** Tells the streams of all processes to send the event again; does not wait, and never fails. */
  publishReplay(clientId: string, eventId: string): void;
  /** Begins to listen. Resolves when no later signal is missed, or when Redis does not answer in time. */
  listen(listener: SignalListener): Promise<() => void>;
}

/** Older entries have no reader: a stream reads only those that are added while it is open. */
const MAX_REPLAYS = 1_000;
const MAX_ENTRIES_PER_READ = 1_000;
/** Streams read ten times a second at most, so entries are read together. */
const READ_INTERVAL_MS = 100;
const RETRY_DELAY_MS = 1 * SECOND;
const LISTEN_TIMEOUT_MS = 1 * SECOND;

const eventsOf = (tag: number) => taggedKey(tag, "events");
const replaysOf = (tag: number) => taggedKey(tag, "replays");

export function createStreamSignals({ redis, tags, connect }: SignalParts): StreamSignals {
  /** Reads the signals of a tag until the signal aborts. Calls `onReady` when it knows where to begin. */
  async function follow(
    tag: number,
    listener: SignalListener,
    { signal, onReady }: { signal: AbortSignal; onReady(): void },
  ): Promise<void> {
    const streams = [eventsOf(tag), replaysOf(tag)];
    const positions = new Map<string, string>();
    const reader = createBlockingReader(() => connect(eventsOf(tag)));
    onAbort(signal, reader.close);
    const readEntries = async (client: RedisClient) => {
      for (const stream of streams)
        if (!positions.has(stream)) positions.set(stream, await lastIdOf(client, stream));
      onReady();
      const ids = streams.map((stream) => positions.get(stream) as string);
      return entriesOf(
        await (client as Redis).xread(
          ...(["COUNT", MAX_ENTRIES_PER_READ, "BLOCK", BLOCK_MS, "STREAMS"] as const),
          ...[...streams, ...ids],
        ),
      );
    };
    while (!signal.aborted) {
      const entries = await reader.read(readEntries).catch(() => undefined); // redis-state.ts logs outages
      if (signal.aborted) return;
      for (const { stream, id } of entries ?? []) positions.set(stream, id);
      tell(listener, entries ?? []);
      await pause(entries ? READ_INTERVAL_MS : RETRY_DELAY_MS, signal);
    }
  }

  function tell(listener: SignalListener, entries: ReturnType<typeof entriesOf>): void {
    const woken = new Set<string>();
    for (const { stream, values } of entries) {
      const [clientId, eventId] = values as [string, string?];
      if (stream.endsWith(":replays")) listener.onReplay(clientId, eventId as string);
      else woken.add(clientId);
    }
    if (woken.size > 0) listener.onNewEvents(woken);
  }

  return {
    publishReplay(clientId, eventId) {
      const stream = replaysOf(tagOf(clientId, tags));
      redis.xadd(stream, "MAXLEN", "~", MAX_REPLAYS, "*", "k", clientId, "e", eventId).catch(() => {});
    },
    async listen(listener) {
      const stopping = new AbortController();
      const { signal } = stopping;
      const following = tags.map(
        (tag) => new Promise<void>((onReady) => void follow(tag, listener, { signal, onReady })),
      );
      await Promise.race([Promise.all(following), pause(LISTEN_TIMEOUT_MS, signal)]);
      return () => stopping.abort();
    },
  };
}

/** The id of a stream's last entry. */
async function lastIdOf(client: RedisClient, stream: string): Promise<string> {
  const [last] = await client.xrevrange(stream, "+", "-", "COUNT", 1);
  return last?.[0] ?? "0-0";
}
