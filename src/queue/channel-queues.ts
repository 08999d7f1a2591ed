import { SECOND } from "../runtime/durations.ts";
import { ADD_SENDS, TAKE_SENDS } from "./channel-queue-scripts.ts";
import { evalByPartition } from "./eval-by-partition.ts";
import type { RedisClient } from "./redis.ts";
import { partitionOf, type QueueRef, streamKey } from "./streams.ts";

/**
 * A queue per channel in Redis with the sends that wait for its rate, shared by all dispatchers. `add` puts sends into the
 * queues; those that do not fit get a later turn and wait in their rows. `take` removes the sends whose rate slot comes
 * within TAKE_AHEAD_MS, together with their slots: a send that no dispatcher can start uses up no slot.
 * The queues are derived from the rows: when Redis loses them, the sweep adds the sends again.
 */

export interface ChannelRef {
  clientId: string;
  channelId: string;
}

/** A send. `slotAt` is set when its later turn has come: it goes before those that had none yet. */
export type QueuedSend = QueueRef & ChannelRef;

/** Sends taken out of a channel's queue. */
export interface TakenSends {
  channel: ChannelRef;
  /** In order, with the milliseconds until each one's rate slot. */
  sends: { id: string; wait: number }[];
  /** Number of sends that stay in the queue. */
  left: number;
  /** Milliseconds until the rate allows the next one to be taken. */
  nextIn: number;
}

/** A send that waits in memory for its slot uses a concurrency slot, so it waits there only shortly. */
const TAKE_AHEAD_MS = 50;
/** Seconds of a channel's rate that fit into its queue: more than the time between two sweeps. */
const QUEUE_SECONDS = 2.5;
const MIN_CAPACITY = 10;
/** For all channels together: the sweep re-queues sends that wait in their queues for long. */
const MAX_QUEUED_SENDS = 10_000;
/** A later turn is this much early, so that the sweep can queue the send before its channel is idle. */
const EARLY_TURN_MS = 2 * SECOND;
/** A send whose turn has come goes before those that were queued up to this long before it. */
const DUE_ADVANTAGE_MS = 10 * SECOND;

export type ChannelQueues = ReturnType<typeof createChannelQueues>;

export function createChannelQueues(
  redis: RedisClient,
  { partitions, perSecond }: { partitions: number; perSecond: number },
) {
  const interval = SECOND / perSecond;
  const prefixOf = (partition: number) => streamKey("outbound", partition);
  const keyOf = (kind: "queue" | "rate", { clientId, channelId }: ChannelRef) =>
    `${prefixOf(partitionOf(clientId, partitions))}:${kind}:${channelId}`;
  const setKey = (partition: number) => `${prefixOf(partition)}:channels`;
  /** Shrinks when many channels have queued sends. */
  let capacity = capacityFor(perSecond, 1);

  async function listChannels(): Promise<ChannelRef[]> {
    const sets = Array.from({ length: partitions }, (_, partition) => redis.smembers(setKey(partition)));
    const channels = (await Promise.all(sets)).flat().map(toChannel);
    capacity = capacityFor(perSecond, channels.length);
    return channels;
  }

  return {
    /** Returns the sends that do not fit, with the times of their turns. Throws while Redis is unavailable. */
    async add(sends: readonly QueuedSend[]): Promise<QueuedSend[]> {
      const now = Date.now();
      const answers = await evalByPartition({ redis, partitions }, groupByChannel(sends), {
        script: ADD_SENDS,
        keysOf: (partition, groups) => [
          setKey(partition),
          ...groups.flatMap(({ channel }) => [keyOf("queue", channel), `${keyOf("rate", channel)}:tail`]),
        ],
        argsOf: (groups) => [
          interval,
          capacity,
          EARLY_TURN_MS,
          ...groups.flatMap((group) => argumentsOf(group, now)),
        ],
      });
      return answers.flatMap(({ items, answer }) =>
        items.flatMap(({ channel }, index) => {
          const [firstIn, ...ids] = (answer as string[][])[index] as [string, ...string[]];
          const turnAt = (place: number) => now + Number(firstIn) + (place + 1) * interval - EARLY_TURN_MS;
          return ids.map((id, place) => ({
            ...channel,
            id,
            slotAt: Math.round(Math.max(now, turnAt(place))),
          }));
        }),
      );
    },
    /** Takes at most `count` sends of each channel. Throws while Redis is unavailable. */
    async take(wanted: readonly (ChannelRef & { count: number })[]): Promise<TakenSends[]> {
      const answers = await evalByPartition({ redis, partitions }, wanted, {
        script: TAKE_SENDS,
        keysOf: (partition, channels) => [
          setKey(partition),
          ...channels.flatMap((channel) => [keyOf("queue", channel), keyOf("rate", channel)]),
        ],
        argsOf: (channels) => [
          interval,
          TAKE_AHEAD_MS,
          ...channels.flatMap((channel) => [toMember(channel), channel.count]),
        ],
      });
      return answers.flatMap(({ items, answer }) =>
        items.map((channel, index) =>
          toTaken(channel, (answer as TakeAnswer[])[index] as TakeAnswer, interval),
        ),
      );
    },
    /** Channels with queued sends. Throws while Redis is unavailable. */
    channels: listChannels,
    /** Ids of the channels whose queues are full. Throws while Redis is unavailable. */
    async fullChannels(): Promise<string[]> {
      const channels = await listChannels();
      const counts = await Promise.all(channels.map((channel) => redis.zcard(keyOf("queue", channel))));
      return channels
        .filter((_, index) => (counts[index] ?? 0) >= capacity)
        .map(({ channelId }) => channelId);
    },
  };
}

const capacityFor = (perSecond: number, channels: number): number =>
  Math.max(
    MIN_CAPACITY,
    Math.floor(Math.min(QUEUE_SECONDS * perSecond, MAX_QUEUED_SENDS / Math.max(1, channels))),
  );

const toMember = ({ clientId, channelId }: ChannelRef): string => `${clientId} ${channelId}`;

function toChannel(member: string): ChannelRef {
  const [clientId = "", channelId = ""] = member.split(" ");
  return { clientId, channelId };
}

interface ChannelSends {
  clientId: string;
  channel: ChannelRef;
  due: QueuedSend[];
  fresh: QueuedSend[];
}

function groupByChannel(sends: readonly QueuedSend[]): ChannelSends[] {
  const groups = new Map<string, ChannelSends>();
  for (const send of sends) {
    const { clientId, channelId } = send;
    const group = groups.get(channelId) ?? { clientId, channel: { clientId, channelId }, due: [], fresh: [] };
    groups.set(channelId, group);
    group[send.slotAt === undefined ? "fresh" : "due"].push(send);
  }
  return [...groups.values()];
}

const argumentsOf = ({ channel, due, fresh }: ChannelSends, now: number): (string | number)[] => [
  toMember(channel),
  due.length,
  due.length + fresh.length,
  ...due.flatMap(({ id, slotAt = now }) => [slotAt - DUE_ADVANTAGE_MS, id]),
  ...fresh.flatMap(({ id }) => [now, id]),
];

/** Milliseconds until the bucket was full, milliseconds until the next slot, number of sends left, ids with scores. */
type TakeAnswer = [string, string, number, string[]];

function toTaken(
  { clientId, channelId }: ChannelRef,
  [full, next, left, found]: TakeAnswer,
  interval: number,
): TakenSends {
  const ids = found.filter((_, index) => index % 2 === 0);
  const sends = ids.map((id, index) => ({
    id,
    wait: Math.max(0, Number(full) + (index + 1) * interval - SECOND),
  }));
  return { channel: { clientId, channelId }, sends, left, nextIn: Number(next) };
}
