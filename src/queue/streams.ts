import type { Config } from "../runtime/config/config.ts";
import { readQueueEpoch } from "./queue-epoch.ts";
import { execPipeline, type RedisClient } from "./redis.ts";

/** The outbound lane carries messages. */
const LANES = ["outbound"] as const;
export type Lane = (typeof LANES)[number];

export interface Stream {
  lane: Lane;
  partition: number;
  /** In braces: a cluster keeps all keys with the same tag on one node. */
  key: string;
}

/** Names a send, its channel and the rate slot reserved for it. */
export interface QueueRef {
  clientId: string;
  id: string;
  channelId?: string;
  slotAt?: number | undefined;
}

/** A stream entry. It names a row and carries nothing else. */
export interface Entry extends QueueRef {
  entryId: string;
}

/** All dispatchers share one group and one consumer: the rows record which worker claimed them. */
export const GROUP = "herald";
export const CONSUMER = "dispatcher";

/** The group starts at the first entry, so that it reads entries added before it existed. */
export async function createGroup(redis: RedisClient, key: string): Promise<void> {
  await redis.xgroup("CREATE", key, GROUP, "0", "MKSTREAM").catch((error: Error) => {
    if (!error.message.startsWith("BUSYGROUP")) throw error;
  });
}

/** True when the stream is new, or when Redis restarted without it. */
export const isMissingGroup = (error: unknown): boolean =>
  error instanceof Error && /^(NOGROUP|UNBLOCKED)/.test(error.message);

/** Only a cluster has several partitions, because only there can nodes share the load. */
export const partitionsOf = ({ REDIS_URL }: Pick<Config, "REDIS_URL">): number => (REDIS_URL.cluster ? 8 : 1);

/** Uses the last byte of the client's id, as the sweep's SQL does. */
export const partitionOf = (clientId: string, partitions: number): number =>
  Number.parseInt(clientId.slice(-2), 16) % partitions;

export const streamKey = (lane: string, partition: number): string => `{${lane}:${partition}}`;

/** Adds many entries in one command, because a command costs us more than an entry. */
const ADD_ENTRIES = `
  for i = 1, #ARGV, 4 do
    redis.call("xadd", KEYS[1], "*", "id", ARGV[i], "d", ARGV[i + 1], "c", ARGV[i + 2], "t", ARGV[i + 3])
  end`;

export type Streams = ReturnType<typeof createStreams>;

export function createStreams(redis: RedisClient, partitions: number) {
  const all = LANES.flatMap((lane) =>
    Array.from(
      { length: partitions },
      (_, partition): Stream => ({
        lane,
        partition,
        key: streamKey(lane, partition),
      }),
    ),
  );
  const keyOf = (lane: Lane, clientId: string) => streamKey(lane, partitionOf(clientId, partitions));
  return {
    all,
    partitions,
    /** Throws when Redis did not accept all of them. */
    async add(lane: Lane, refs: readonly QueueRef[]): Promise<void> {
      const byKey = new Map<string, string[]>();
      for (const ref of refs) {
        const key = keyOf(lane, ref.clientId);
        const fields = byKey.get(key) ?? [];
        byKey.set(key, fields);
        fields.push(ref.id, ref.clientId, ref.channelId ?? "", String(ref.slotAt ?? ""));
      }
      // A command per stream, because it must not span the nodes of a cluster.
      await Promise.all([...byKey].map(([key, fields]) => redis.eval(ADD_ENTRIES, 1, key, ...fields)));
    },
    /** Acknowledges and deletes the entries. */
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
    /** Returns entries that were read at least `idle` milliseconds ago and not removed: their dispatcher died. */
    async reclaim(key: string, { idle, count }: { idle: number; count: number }): Promise<Entry[]> {
      const answer = await redis.xautoclaim(key, GROUP, CONSUMER, idle, "0-0", "COUNT", count);
      return toEntries(answer[1]);
    },
    createGroup: (key: string) => createGroup(redis, key),
    /** Entries in the stream, read or not. */
    depth: (key: string) => redis.xlen(key),
    epoch: (): Promise<string> =>
      readQueueEpoch(
        redis,
        all.map(({ key }) => key),
      ),
  };
}

/** Fields are a flat list of names and values; a deleted entry has none. */
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
