import { setTimeout as sleep } from "node:timers/promises";
import type { Test } from "tap";
import { SECOND } from "../../../src/runtime/durations.ts";
import { until } from "../../fixtures/until.ts";
import type { Measurement, Recovery } from "./case.ts";
import type { Load } from "./load.ts";
import { RATE_PER_SECOND, startLoadedDeployment } from "./loaded-deployment.ts";

/** Servers of a Redis, and what is done to them. */
export interface RedisFault {
  REDIS_URL: string;
  /** True for the clients whose keys the fault concerns. */
  isAffected(clientId: string): boolean;
  /** Causes the fault. Resolves when all keys have a primary again: then Herald has to recover. */
  cause(): Promise<void>;
}

/** Latencies of new processes are not normal. */
const WARM_UP_MS = 8 * SECOND;
const LOAD = {
  size: { web: 1, dispatcher: 2, scheduler: 0 },
  clients: 20,
  channels: 6,
  perSecond: 300,
  backlog: (RATE_PER_SECOND * (WARM_UP_MS + 15 * SECOND)) / SECOND,
};
const RECEIVED_MESSAGES = 10_000;
const MAX_RECOVERY_MS = 5 * SECOND;
/** On a machine with other work, a recovery cannot be told from other delays: the fault waits for a quiet moment. */
const MAX_LATENCY_BEFORE_MS = 50;

/** Causes the fault under load and measures how the latency of the affected clients recovers. */
export async function measureRedisFault(t: Test, fault: RedisFault): Promise<Measurement> {
  const { REDIS_URL, isAffected } = fault;
  const options = { ...LOAD, settings: { REDIS_URL }, isMeasured: isAffected };
  const { load, finish } = await startLoadedDeployment(t, options);
  await sleep(WARM_UP_MS);
  const latencyBefore = () => load.latency({ from: Date.now() - SAMPLE_MS, to: Date.now() });
  await until("the machine is quiet", () => (latencyBefore() as number) <= MAX_LATENCY_BEFORE_MS);
  const causedAt = Date.now();
  await fault.cause();
  const restoredAt = Date.now();
  const recovery = await watchRecovery(load, causedAt, restoredAt);
  t.ok(recovery.ms <= MAX_RECOVERY_MS, `normal latency after ${recovery.ms} ms`);
  return { ...(await finish(RECEIVED_MESSAGES)), recovery };
}

const WINDOW_MS = 1 * SECOND;
const STEP_MS = 100;
/** The time before the fault, and after the recovery, whose latency the table shows. */
const SAMPLE_MS = 4 * SECOND;
/** The polls that replace wake-ups, each 200 to 300 ms after the last one, have a median of 125 ms. */
const MIN_NORMAL_MS = 60;

/** Waits for the first second in which the median latency is at most twice that before the fault, and for the time after it. */
async function watchRecovery(load: Load, causedAt: number, restoredAt: number): Promise<Recovery> {
  const latency = (from: number, to: number) => load.latency({ from, to });
  const before = latency(causedAt - SAMPLE_MS, causedAt) as number;
  const normal = Math.max(2 * before, MIN_NORMAL_MS);
  let from = restoredAt;
  await until("latencies are normal again", () => {
    // Latencies are known for messages that were acknowledged a while ago.
    for (; from + 2 * WINDOW_MS < Date.now(); from += STEP_MS)
      if ((latency(from, from + WINDOW_MS) ?? Number.POSITIVE_INFINITY) <= normal) return true;
    return false;
  });
  await until("the sample is complete", () => Date.now() > from + SAMPLE_MS + WINDOW_MS);
  const after = latency(from, from + SAMPLE_MS) as number;
  return { before, during: latency(causedAt, from), after, ms: from - restoredAt };
}
