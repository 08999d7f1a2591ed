import { withTimeout } from "../runtime/async/with-timeout.ts";
import { SECOND } from "../runtime/durations.ts";
import type { RedisState } from "../schema/readiness.ts";
import type { RedisClient } from "./redis.ts";
import { taggedKey } from "./wake-ups.ts";

const PROBE_EXPIRY_MS = 10 * SECOND;

/** Error prefixes of a replica, a full memory, a failed snapshot, too few replicas and a user without the permission. */
const REFUSAL_PREFIXES = ["READONLY ", "OOM ", "MISCONF ", "NOREPLICAS ", "NOPERM "];

/** True when Redis answered and refused to write. */
export const isWriteRefusal = (error: unknown): boolean =>
  error instanceof Error && REFUSAL_PREFIXES.some((prefix) => error.message.startsWith(prefix));

/** The error of the client's own timeout. */
const COMMAND_TIMEOUT_MESSAGE = "Command timed out";

class LateAnswer extends Error {}

/** True when Redis is connected and did not answer in time. */
export const isLateAnswer = (error: unknown): boolean =>
  error instanceof LateAnswer || (error instanceof Error && error.message === COMMAND_TIMEOUT_MESSAGE);

interface ProbeOptions {
  tags: readonly number[];
  timeoutMs: number;
}

/**
 * Writes a short-lived key of each tag, so that every cluster node with a stream is checked. Throws the refusal, or
 * another error when a node does not answer in time.
 */
export async function probeRedisWrites(redis: RedisClient, options: ProbeOptions): Promise<void> {
  const { tags, timeoutMs } = options;
  const writes = tags.map((tag) => redis.set(taggedKey(tag, "probe"), "", "PX", PROBE_EXPIRY_MS));
  const results = await withTimeout(timeoutMs, Promise.allSettled(writes), () => {
    throw new LateAnswer(`Redis did not answer within ${timeoutMs} ms`);
  });
  const errors = results.flatMap((result) => (result.status === "rejected" ? [result.reason] : []));
  if (errors.length > 0) throw errors.find((error) => !isWriteRefusal(error)) ?? errors[0];
}

export interface RedisFinding {
  state: RedisState;
  /** Why the state is not ok. */
  error?: unknown;
}

/** Probes once and returns the state that the probe found. */
export async function readRedisState(redis: RedisClient, options: ProbeOptions): Promise<RedisFinding> {
  try {
    await probeRedisWrites(redis, options);
    return { state: "ok" };
  } catch (error) {
    return { state: isWriteRefusal(error) ? "read_only" : "unavailable", error };
  }
}
