import { withTimeout } from "../runtime/async/with-timeout.ts";
import { SECOND } from "../runtime/durations.ts";
import type { RedisClient } from "./redis.ts";
import { createStreams } from "./streams.ts";

const PROBE_EXPIRY_MS = 10 * SECOND;

/** Error prefixes of a replica, a full memory, a failed snapshot, too few replicas and a user without the permission. */
const REFUSAL_PREFIXES = ["READONLY ", "OOM ", "MISCONF ", "NOREPLICAS ", "NOPERM "];

/** True when Redis answered and refused to write. */
export const isWriteRefusal = (error: unknown): boolean =>
  error instanceof Error && REFUSAL_PREFIXES.some((prefix) => error.message.startsWith(prefix));

interface ProbeOptions {
  partitions: number;
  timeoutMs: number;
}

/**
 * Writes a short-lived key beside each stream, so that every cluster node with a stream is checked. Throws the refusal, or
 * another error when a node does not answer in time.
 */
export async function probeRedisWrites(redis: RedisClient, options: ProbeOptions): Promise<void> {
  const { partitions, timeoutMs } = options;
  const writes = createStreams(redis, partitions).all.map(({ key }) =>
    redis.set(`${key}:probe`, "", "PX", PROBE_EXPIRY_MS),
  );
  const results = await withTimeout(timeoutMs, Promise.allSettled(writes), () => {
    throw new Error(`Redis did not answer within ${timeoutMs} ms`);
  });
  const errors = results.flatMap((result) => (result.status === "rejected" ? [result.reason] : []));
  if (errors.length > 0) throw errors.find((error) => !isWriteRefusal(error)) ?? errors[0];
}
