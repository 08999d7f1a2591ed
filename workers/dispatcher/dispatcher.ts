import { setMaxListeners } from "node:events";
import { createStreamReader, isMissingGroup } from "../../src/dispatch/queue/stream-reader.ts";
import type { Entry, EventLane, Stream, Streams } from "../../src/dispatch/queue/streams.ts";
import type { RedisClient } from "../../src/dispatch/redis.ts";
import { SECOND } from "../../src/runtime/durations.ts";
import { isClientId, isPrefixedId } from "../../src/runtime/ids.ts";
import type { Log } from "../../src/runtime/log.ts";
import { createOutage } from "../../src/runtime/outage.ts";
import { pause, persist } from "../../src/runtime/pause.ts";
import type { Worker } from "../../src/runtime/supervise.ts";
import { within } from "../../src/runtime/within.ts";
import type { Deliveries } from "./deliveries.ts";
import type { Gate } from "./gate.ts";

interface DispatcherParts {
  streams: Streams;
  gate: Gate;
  deliveries: Deliveries;
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
  const { streams, deliveries, chores, log } = parts;
  const stopping = new AbortController();
  setMaxListeners(0, stopping.signal); // two for each stream, which Node would take for a leak
  let serving: Promise<unknown> = Promise.resolve();
  return {
    name: "dispatcher",
    async start(lifecycle) {
      for (const chore of chores) await chore.start?.(lifecycle);
      serving = Promise.all(
        streams.ofEvents.flatMap((stream) => [
          serve(parts, stream, stopping.signal),
          adopt(parts, stream, stopping.signal),
        ]),
      );
    },
    async close() {
      stopping.abort();
      deliveries.stop();
      const began = performance.now();
      const inHand = deliveries.size();
      const timers = [
        setTimeout(deliveries.abort, ABORT_AFTER),
        setTimeout(deliveries.giveUp, GIVE_UP_AFTER),
      ];
      const ending = chores.map(async (chore) =>
        within(CHORES_END_WITHIN, Promise.resolve(chore.close?.()), () => {}),
      );
      const ended = Promise.all([serving, ...ending]).then(deliveries.idle);
      await within(LEAVE_AFTER, ended, () => {});
      for (const timer of timers) clearTimeout(timer);
      const ms = Math.round(performance.now() - began);
      log.info("dispatcher.drained", { in_hand: inHand, left: deliveries.size(), ms });
    },
  };
}

/** Never reads more than can be begun: what is read and waits looks abandoned after a while. */
async function serve(parts: DispatcherParts, stream: Stream<EventLane>, signal: AbortSignal): Promise<void> {
  const { streams, gate, log, connect } = parts;
  const reader = createStreamReader(stream.key, connect);
  const next = async (): Promise<Entry[]> => {
    const room = await gate.room(stream.lane);
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
      await handBack(parts, stream, entries);
      break;
    }
    outage.mended();
    await accept(parts, stream, entries);
  }
  reader.close();
}

/** Whoever has read something and died leaves it to the others. */
async function adopt(parts: DispatcherParts, stream: Stream<EventLane>, signal: AbortSignal): Promise<void> {
  const { streams, gate } = parts;
  while (!signal.aborted) {
    await pause(ADOPT_EVERY, signal);
    const count = signal.aborted ? 0 : gate.roomIn(stream.lane);
    if (count === 0) continue;
    const wish = { idle: ADOPTED_AFTER, count };
    await accept(parts, stream, await streams.adopt(stream.key, wish).catch(() => []));
  }
}

/** Once they are in somebody's hand, or set aside, or nobody's business, the stream is done with them. */
async function accept(
  parts: DispatcherParts,
  stream: Stream<EventLane>,
  entries: readonly Entry[],
): Promise<void> {
  const { streams, deliveries } = parts;
  const readable = entries.filter(({ clientId, id }) => isClientId(clientId) && isPrefixedId(id, "evt"));
  if (!(await deliveries.take(stream.lane, readable))) return handBack(parts, stream, readable);
  // What stays because Redis is away is adopted later, and found to be done.
  await streams.remove(stream.key, entries).catch(() => {});
}

/** Read and not begun: given to the others at once. */
async function handBack(
  { streams }: DispatcherParts,
  { lane, key }: Stream<EventLane>,
  entries: readonly Entry[],
): Promise<void> {
  if (entries.length === 0) return;
  const move = async () => {
    await streams.add(lane, entries);
    await streams.remove(key, entries);
  };
  await move().catch(() => {});
}
