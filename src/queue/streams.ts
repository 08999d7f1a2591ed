import type { Config } from "../runtime/config/config.ts";
import type { DeliveryRef } from "../store/events/delivery-refs.ts";
import { readQueueEpoch } from "./queue-epoch.ts";
import { execPipeline, type RedisClient } from "./redis.ts";

/** Of events: fresh ones, and those that are told again in bulk, which never delay fresh ones. */
export const EVENT_LANES = ["events", "bulk"] as const;
export type EventLane = (typeof EVENT_LANES)[number];

/** And messages to people. */
const LANES = [...EVENT_LANES, "outbound"] as const;
export type Lane = (typeof LANES)[number];

export interface Stream<L extends Lane = Lane> {
  lane: L;
  partition: number;
  /** In braces: a cluster keeps everything under the same name on one node. */
  key: string;
}

/** A row to look at. Of a message also who says it, and the moment that was kept for it. */
export interface QueueRef extends DeliveryRef {
  channelId?: string;
  slotAt?: number | undefined;
}

/** A note that there is something to do: it says where to look, and nothing else. */
export interface Entry extends QueueRef {
  entryId: string;
}

/** One for all dispatchers, as is the consumer: who has what in hand is in the rows. */
export const GROUP = "herald";
export const CONSUMER = "dispatcher";

/** Several only where there are several nodes to share the work. */
export const partitionsOf = ({ REDIS_URL }: Pick<Config, "REDIS_URL">): number => (REDIS_URL.cluster ? 8 : 1);

/** By the last byte of the client's id, as the sweeper's statement does it. */
export const partitionOf = (clientId: string, partitions: number): number =>
  Number.parseInt(clientId.slice(-2), 16) % partitions;

export const streamKey = (lane: string, partition: number): string => `{${lane}:${partition}}`;

/** Many in one command: for us each command costs more than its entry. */
const ADD_ENTRIES = `
  for i = 1, #ARGV, 4 do
    redis.call("xadd", KEYS[1], "*", "id", ARGV[i], "d", ARGV[i + 1], "c", ARGV[i + 2], "t", ARGV[i + 3])
  end`;

export type Streams = ReturnType<typeof createStreams>;

export function createStreams(redis: RedisClient, partitions: number) {
  const streamsOf = <L extends Lane>(lane: L): Stream<L>[] =>
    Array.from({ length: partitions }, (_, partition) => ({
      lane,
      partition,
      key: streamKey(lane, partition),
    }));
  const all = LANES.flatMap((lane): Stream[] => streamsOf(lane));
  const keyOf = (lane: Lane, clientId: string) => streamKey(lane, partitionOf(clientId, partitions));
  return {
    all,
    /** Those of the events alone. */
    eventStreams: EVENT_LANES.flatMap((lane): Stream<EventLane>[] => streamsOf(lane)),
    partitions,
    /** Throws where Redis has not taken all of them. */
    async add(lane: Lane, refs: readonly QueueRef[]): Promise<void> {
      const byKey = new Map<string, string[]>();
      for (const ref of refs) {
        const key = keyOf(lane, ref.clientId);
        const fields = byKey.get(key) ?? [];
        byKey.set(key, fields);
        fields.push(ref.id, ref.clientId, ref.channelId ?? "", String(ref.slotAt ?? ""));
      }
      // One for each: a command must not span the nodes of a cluster.
      await Promise.all([...byKey].map(([key, fields]) => redis.eval(ADD_ENTRIES, 1, key, ...fields)));
    },
    /** Takes them off the stream, for good. */
    async remove(key: string, entries: readonly Entry[]): Promise<void> {
      if (entries.length === 0) return;
      const ids = entries.map(({ entryId }) => entryId);
      await execPipeline(
        redis
          .pipeline()
          .xack(key, GROUP, ...ids)
          .xdel(key, ...ids),
      );
    },
    /** What somebody has read `idle` milliseconds ago and not taken off since: they have died over it. */
    async reclaim(key: string, { idle, count }: { idle: number; count: number }): Promise<Entry[]> {
      const answer = await redis.xautoclaim(key, GROUP, CONSUMER, idle, "0-0", "COUNT", count);
      return toEntries(answer[1]);
    },
    /** From its beginning: what came before the group was made is to be read too. */
    async createGroup(key: string): Promise<void> {
      await redis.xgroup("CREATE", key, GROUP, "0", "MKSTREAM").catch((error: Error) => {
        if (!error.message.startsWith("BUSYGROUP")) throw error;
      });
    },
    /** How much lies in it, read or not. */
    depth: (key: string) => redis.xlen(key),
    epoch: (): Promise<string> =>
      readQueueEpoch(
        redis,
        all.map(({ key }) => key),
      ),
  };
}

/** Fields are a flat list of names and values; an entry that was deleted meanwhile has none. */
export function toEntries(answer: unknown): Entry[] {
  const rows = (answer ?? []) as [string, string[] | null][];
  return rows.map(([entryId, fields]) => {
    const [, id = "", , clientId = "", , channelId, , slotAt] = fields ?? [];
    return {
      entryId,
      id,
      clientId,
      ...(channelId ? { channelId } : {}),
      ...(slotAt ? { slotAt: Number(slotAt) } : {}),
    };
  });
}
