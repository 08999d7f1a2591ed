import { pause, withTimeout } from "../runtime/async/timeouts-and-retries.ts";
import { SECOND } from "../runtime/durations.ts";
import type { Log } from "../runtime/log.ts";
import type { LogEvent } from "../runtime/log-events.ts";
import type { Metrics } from "../runtime/metrics.ts";
import type { Worker } from "../runtime/supervise.ts";
import type { RedisState } from "../schema/enumerations.ts";
import type { RedisClient } from "./redis.ts";
import { taggedKey } from "./wake-ups.ts";

/**
 * A process's view of Redis. A probe once a second moves it from any state to any other; each change is logged once.
 * ok: Redis accepts writes. The state before the first probe.
 * read_only: Redis answers and refuses writes.
 * unavailable: Redis cannot be reached, or two probes in a row were not answered in time.
 * A Redis that comes back empty is ok: readers create their group again (wake-ups.ts), and buckets start empty (rates.ts).
 */
export interface RedisStateWorker extends Worker {
  isWritable(): boolean;
}

interface RedisStateParts {
  redis: RedisClient;
  tags: readonly number[];
  log: Log;
  metrics: Pick<Metrics, "redisUp" | "redisWritable">;
  /** Milliseconds between the end of a probe and the next one. */
  intervalMs?: number;
}

const PROBE_INTERVAL_MS = 1 * SECOND;
const PROBE_TIMEOUT_MS = 0.8 * SECOND;
/** On a busy machine a single answer may be late. A refusal or a closed connection counts at once. */
const MAX_LATE_ANSWERS = 1;

const OUTAGE_EVENTS = {
  read_only: "redis.read_only",
  unavailable: "redis.unavailable",
} as const satisfies Partial<Record<RedisState, LogEvent>>;

export function createRedisState({
  redis,
  log,
  metrics,
  intervalMs = PROBE_INTERVAL_MS,
  tags,
}: RedisStateParts): RedisStateWorker {
  const closing = new AbortController();
  const { signal } = closing;
  let state: RedisState = "ok";
  let lateAnswers = 0;
  let connectionError: unknown;
  let probing: Promise<void> = Promise.resolve();
  // A command on a closed connection fails without the reason, which only these events have.
  redis.on("error", (error) => {
    connectionError = error;
  });
  redis.on("node error", ({ message }: Error, address: string) => {
    connectionError = new Error(`${address}: ${message}`);
  });

  async function probe(): Promise<void> {
    const finding = await readRedisState(redis, { tags, timeoutMs: PROBE_TIMEOUT_MS });
    if (signal.aborted) return;
    lateAnswers = isLateAnswer(finding.error) ? lateAnswers + 1 : 0;
    if (lateAnswers === 0 || lateAnswers > MAX_LATE_ANSWERS) changeTo(finding);
    if (finding.state !== "unavailable") connectionError = undefined;
    metrics.redisUp.set(state === "unavailable" ? 0 : 1);
    metrics.redisWritable.set(state === "ok" ? 1 : 0);
  }

  function changeTo({ state: found, error }: RedisFinding): void {
    if (found === state) return;
    state = found;
    if (found === "ok") log.info("redis.recovered");
    else log.warn(OUTAGE_EVENTS[found], { err: found === "read_only" ? error : (connectionError ?? error) });
  }

  async function probeUntilClosed(): Promise<void> {
    while (!signal.aborted) {
      await pause(intervalMs, signal);
      if (!signal.aborted) await probe();
    }
  }

  return {
    name: "redis-state",
    isWritable: () => state === "ok",
    async start() {
      await probe();
      probing = probeUntilClosed();
    },
    async close() {
      closing.abort();
      await probing;
    },
  };
}

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
const isLateAnswer = (error: unknown): boolean =>
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

interface RedisFinding {
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
