import { setTimeout as sleep } from "node:timers/promises";
import type { Test } from "tap";
import { SECOND } from "../../../src/runtime/durations.ts";
import { until } from "../../fixtures/until.ts";
import type { Measurement, Recovery } from "./case.ts";
import { startDeployment } from "./deployment.ts";
import { createPopulation, type Load, startLoad } from "./load.ts";

/** Servers of a Redis, and what is done to them. */
export interface RedisFault {
  REDIS_URL: string;
  /** True for the clients whose keys the fault concerns. */
  isAffected(clientId: string): boolean;
  /** Causes the fault. Resolves when all keys have a primary again: then Herald has to recover. */
  cause(): Promise<void>;
}

export interface FaultSize {
  clients: number;
  channels: number;
  /** Received messages, in all and per second. */
  received: number;
  perSecond: number;
  /** Milliseconds under load before the fault: latencies of new processes are not normal. */
  warmUpMs: number;
}

export const FULL_SIZE: FaultSize = {
  clients: 20,
  channels: 6,
  received: 10_000,
  perSecond: 400,
  warmUpMs: 8 * SECOND,
};

const RATE_PER_SECOND = 20;
const MAX_RECOVERY_MS = 5 * SECOND;

/** Causes the fault while two dispatchers deliver and send; checks that nothing is lost or doubled, and the rates. */
export async function measureRedisFault(t: Test, fault: RedisFault, size = FULL_SIZE): Promise<Measurement> {
  const { clients, channels, perSecond } = size;
  const settings = {
    REDIS_URL: fault.REDIS_URL,
    DISPATCHER_CONCURRENCY: "50",
    CHANNEL_RATE_PER_SECOND: String(RATE_PER_SECOND),
  };
  const population = await createPopulation(t, { clients, channels, settings });
  const { webs } = await startDeployment(t, population.settings, { webs: 1, dispatchers: 2 });
  const load = await startLoad(population, {
    nextAddress: () => webs[0]?.address as string,
    perSecond,
    backlog: (RATE_PER_SECOND * (size.warmUpMs + 10 * SECOND)) / SECOND,
  });
  await sleep(size.warmUpMs);
  const causedAt = Date.now();
  await fault.cause();
  const restoredAt = Date.now();
  const recovery = await watchRecovery(load, { causedAt, restoredAt, isAffected: fault.isAffected });
  await until("the messages are received", () => load.acknowledged.length >= size.received);
  const { rateExcess, ...result } = await load.finish();
  t.equal(result.lost, 0, "nothing is lost");
  t.equal(result.doubled, 0, "nothing is delivered or sent twice");
  // Requests start up to half a second late on a loaded machine.
  t.ok(rateExcess <= RATE_PER_SECOND / 2, `${rateExcess.toFixed(1)} messages more than the rate allows`);
  t.ok(recovery.ms <= MAX_RECOVERY_MS, `normal latency after ${recovery.ms} ms`);
  return { ...result, recovery };
}

interface RecoveryParts {
  causedAt: number;
  restoredAt: number;
  isAffected: RedisFault["isAffected"];
}

const WINDOW_MS = 1 * SECOND;
const STEP_MS = 100;
/** The time before the fault, and after the recovery, whose latency the table shows. */
const SAMPLE_MS = 4 * SECOND;
/** The polls that replace wake-ups, each 200 to 300 ms after the last one, have a median of 125 ms. */
const MIN_NORMAL_MS = 60;

/** Waits for the first second in which the median latency is at most twice that before the fault, and for the time after it. */
async function watchRecovery(
  load: Load,
  { causedAt, restoredAt, isAffected }: RecoveryParts,
): Promise<Recovery> {
  const latency = (from: number, to: number) => load.latency({ from, to }, isAffected);
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
