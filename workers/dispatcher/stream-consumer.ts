import { setMaxListeners } from "node:events";
import type { RedisClient } from "../../src/queue/redis.ts";
import { createStreamReader, isMissingGroup } from "../../src/queue/stream-reader.ts";
import type { Entry, Lane, Stream, Streams } from "../../src/queue/streams.ts";
import { pause, persist } from "../../src/runtime/async/pause.ts";
import { within } from "../../src/runtime/async/with-timeout.ts";
import { SECOND } from "../../src/runtime/durations.ts";
import { type IdPrefix, isClientId, isPrefixedId } from "../../src/runtime/ids.ts";
import type { Log } from "../../src/runtime/logging/log.ts";
import { createOutage } from "../../src/runtime/logging/outage-logger.ts";
import type { Worker } from "../../src/runtime/supervise.ts";

/** Takes up what the streams of one lane name. */
export interface LaneParts {
  lane: Lane;
  /** How much may be read: waits until there is room, or tells how much there is now. */
  room(): Promise<number>;
  roomNow(): number;
  /** What the ids of its rows begin with. */
  prefix: IdPrefix;
  /** False where it was given up, because the process ends: they are still in nobody's hand. */
  take(entries: readonly Entry[]): Promise<boolean>;
}

/** Who has something in hand. */
export interface Crew {
  /** How much. */
  size(): number;
  /** From now on nothing is taken up. */
  stop(): void;
  /** When everything in hand has come to its end. */
  idle(): Promise<void>;
  /** Gives up what is still out, where that does no harm. */
  abort(): void;
  /** Gives up writing down how it ended: the others will find it in the hands of a dead one. */
  giveUp(): void;
}

interface DispatcherParts {
  streams: Streams;
  lanes: readonly LaneParts[];
  crews: readonly Crew[];
  connect(): RedisClient;
  /** What is done beside it, and ends with it: nothing of it begins any more once the process is to end. */
  chores: readonly Worker[];
  log: Log;
}

/** Who has read it and not taken it off since is dead, or waits for Postgres as everybody else does. */
const ADOPTED_AFTER = 20 * SECOND;
const ADOPT_EVERY = 5 * SECOND;
/** After so long what is still out is given up, then the writing down of what has ended, then the waiting for anything. */
const [ABORT_AFTER, GIVE_UP_AFTER, LEAVE_AFTER] = [18 * SECOND, 18.5 * SECOND, 19.5 * SECOND];
/** What is done beside may hang in a query, and holds nothing. */
const CHORES_END_WITHIN = 2 * SECOND;

/** Reads the streams and hands over what is named there; ends with nothing left in hand. */
export function dispatcher(parts: DispatcherParts): Worker {
  const { streams, lanes, crews, chores, log } = parts;
  const each = (what: "stop" | "abort" | "giveUp") => () => {
    for (const crew of crews) crew[what]();
  };
  const size = () => crews.reduce((sum, crew) => sum + crew.size(), 0);
  const stopping = new AbortController();
  setMaxListeners(0, stopping.signal); // two for each stream, which Node would take for a leak
  let serving: Promise<unknown> = Promise.resolve();
  return {
    name: "dispatcher",
    async start(lifecycle) {
      for (const chore of chores) await chore.start?.(lifecycle);
      serving = Promise.all(
        lanes.flatMap((lane) =>
          streams.all
            .filter((stream) => stream.lane === lane.lane)
            .flatMap((stream) => {
              const post = { ...parts, ...lane, stream };
              return [serve(post, stopping.signal), adopt(post, stopping.signal)];
            }),
        ),
      );
    },
    async close() {
      stopping.abort();
      each("stop")();
      const began = performance.now();
      const inHand = size();
      const timers = [setTimeout(each("abort"), ABORT_AFTER), setTimeout(each("giveUp"), GIVE_UP_AFTER)];
      const ending = chores.map(async (chore) =>
        within(CHORES_END_WITHIN, Promise.resolve(chore.close?.()), () => {}),
      );
      const idle = () => Promise.all(crews.map((crew) => crew.idle()));
      const ended = Promise.all([serving, ...ending]).then(idle);
      await within(LEAVE_AFTER, ended, () => {});
      for (const timer of timers) clearTimeout(timer);
      const ms = Math.round(performance.now() - began);
      log.info("dispatcher.drained", { in_hand: inHand, left: size(), ms });
    },
  };
}

/** One stream, and who takes up what it names. */
type Post = DispatcherParts & LaneParts & { stream: Stream };

/** Never reads more than can be begun: what is read and waits looks abandoned after a while. */
async function serve(post: Post, signal: AbortSignal): Promise<void> {
  const { streams, stream, log, connect } = post;
  const reader = createStreamReader(stream.key, connect);
  const next = async (): Promise<Entry[]> => {
    const room = await post.room();
    if (signal.aborted) return [];
    try {
      return await reader.read(Math.ceil(room / streams.partitions));
    } catch (error) {
      if (!isMissingGroup(error)) throw error;
      await streams.makeGroup(stream.key);
      return [];
    }
  };
  const outage = createOutage(log, { away: "reader.failed", back: "reader.mended" }, { stream: stream.key });
  const patience = { signal, first: 200, most: 1 * SECOND, onFault: outage.failed };
  while (!signal.aborted) {
    const entries = (await persist(next, patience)) ?? [];
    if (signal.aborted) {
      await handBack(post, entries);
      break;
    }
    outage.mended();
    await accept(post, entries);
  }
  reader.close();
}

/** Whoever has read something and died leaves it to the others. */
async function adopt(post: Post, signal: AbortSignal): Promise<void> {
  const { streams, stream } = post;
  while (!signal.aborted) {
    await pause(ADOPT_EVERY, signal);
    const count = signal.aborted ? 0 : post.roomNow();
    if (count === 0) continue;
    const wish = { idle: ADOPTED_AFTER, count };
    await accept(post, await streams.adopt(stream.key, wish).catch(() => []));
  }
}

/** Once they are in somebody's hand, or set aside, or nobody's business, the stream is done with them. */
async function accept(post: Post, entries: readonly Entry[]): Promise<void> {
  const { streams, stream, prefix } = post;
  const readable = entries.filter(({ clientId, id }) => isClientId(clientId) && isPrefixedId(id, prefix));
  if (!(await post.take(readable))) return handBack(post, readable);
  // What stays because Redis is away is adopted later, and found to be done.
  await streams.remove(stream.key, entries).catch(() => {});
}

/** Read and not begun: given to the others at once. */
async function handBack({ streams, stream: { lane, key } }: Post, entries: readonly Entry[]): Promise<void> {
  if (entries.length === 0) return;
  const move = async () => {
    await streams.add(lane, entries);
    await streams.remove(key, entries);
  };
  await move().catch(() => {});
}
