import type { RedisClient } from "./redis.ts";
import { partitionOf } from "./streams.ts";

interface PartitionScript<I> {
  script: string;
  keysOf(partition: number, items: readonly I[]): string[];
  argsOf(items: readonly I[]): (string | number)[];
}

/** Runs a script once for each partition, because a script may not use the keys of several. */
export function evalByPartition<I extends { clientId: string }>(
  { redis, partitions }: { redis: RedisClient; partitions: number },
  items: readonly I[],
  { script, keysOf, argsOf }: PartitionScript<I>,
): Promise<{ items: I[]; answer: unknown }[]> {
  const groups = new Map<number, I[]>();
  for (const item of items) {
    const partition = partitionOf(item.clientId, partitions);
    const group = groups.get(partition);
    if (group) group.push(item);
    else groups.set(partition, [item]);
  }
  return Promise.all(
    [...groups].map(async ([partition, group]) => {
      const keys = keysOf(partition, group);
      return { items: group, answer: await redis.eval(script, keys.length, ...keys, ...argsOf(group)) };
    }),
  );
}
