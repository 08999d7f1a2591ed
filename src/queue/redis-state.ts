import { pause } from "../runtime/async/pause.ts";
import { SECOND } from "../runtime/durations.ts";
import type { Log } from "../runtime/logging/log.ts";
import type { LogEvent } from "../runtime/logging/log-events.ts";
import type { Metrics } from "../runtime/metrics/metrics.ts";
import type { Worker } from "../runtime/supervise.ts";
import type { RedisState } from "../schema/readiness.ts";
import type { RedisClient } from "./redis.ts";
import { isLateAnswer, type RedisFinding, readRedisState } from "./redis-writes.ts";

/**
 * A process's view of Redis. A probe once a second moves it from any state to any other; each change is logged once.
 * ok: Redis accepts writes. The state before the first probe.
 * read_only: Redis answers and refuses writes.
 * unavailable: Redis cannot be reached, or two probes in a row were not answered in time.
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
  // A command on a closed connection fails without the reason, which only this event has.
  redis.on("error", (error) => {
    connectionError = error;
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
