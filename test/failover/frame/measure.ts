import { setTimeout as sleep } from "node:timers/promises";
import type { Test } from "tap";
import { SECOND } from "../../../src/runtime/durations.ts";
import { until } from "../../fixtures/until.ts";
import type { Measurement, Recovery } from "./case.ts";
import { type Deployment, startDeployment } from "./deployment.ts";
import { createPopulation, type Load, type LoadResult, startLoad } from "./load.ts";

/** Servers of a Redis, and what is done to them. */
export interface RedisFault {
  REDIS_URL: string;
  /** True for the clients whose keys the fault concerns. */
  isAffected(clientId: string): boolean;
  /** Causes the fault. Resolves when all keys have a primary again: then Herald has to recover. */
  cause(): Promise<void>;
}

interface LoadSize {
  clients: number;
  channels: number;
  /** Received messages, in all and per second. */
  received: number;
  perSecond: number;
  /** Messages that each channel has to send. */
  backlog: number;
}

const RATE_PER_SECOND = 20;

interface LoadedDeployment extends Deployment {
  load: Load;
  /** Waits for the rest of the load; checks that nothing is lost or doubled, and the rates of the channels. */
  finish(): Promise<Omit<LoadResult, "rateExcess">>;
}

/** Starts one web process and two dispatchers that deliver and send. */
export async function startLoadedDeployment(
  t: Test,
  { REDIS_URL }: Pick<RedisFault, "REDIS_URL">,
  { clients, channels, received, ...size }: LoadSize,
): Promise<LoadedDeployment> {
  const CHANNEL_RATE_PER_SECOND = String(RATE_PER_SECOND);
  const settings = { REDIS_URL, DISPATCHER_CONCURRENCY: "50", CHANNEL_RATE_PER_SECOND };
  const population = await createPopulation(t, { clients, channels, settings });
  const deployment = await startDeployment(t, population.settings, { webs: 1, dispatchers: 2 });
  const [web] = deployment.webs;
  const load = await startLoad(population, { ...size, nextAddress: () => web?.address as string });
  return {
    ...deployment,
    load,
    async finish() {
      await until("the messages are received", () => load.acknowledged.length >= received);
      const { rateExcess, ...result } = await load.finish();
      t.equal(result.lost, 0, "nothing is lost");
      t.equal(result.doubled, 0, "nothing is delivered or sent twice");
      // Requests start up to half a second late on a loaded machine.
      t.ok(rateExcess <= RATE_PER_SECOND / 2, `${rateExcess.toFixed(1)} messages more than the rate allows`);
      return result;
    },
  };
}

/** Latencies of new processes are not normal. */
const WARM_UP_MS = 8 * SECOND;
const FULL_SIZE: LoadSize = {
  clients: 20,
  channels: 6,
  received: 10_000,
  perSecond: 400,
  backlog: (RATE_PER_SECOND * (WARM_UP_MS + 10 * SECOND)) / SECOND,
};
const MAX_RECOVERY_MS = 5 * SECOND;
/** On a machine that has other work, a recovery cannot be told from its own delays. */
const MAX_LATENCY_BEFORE_MS = 100;

/** Causes the fault under load and measures how the latency of the affected clients recovers. */
export async function measureRedisFault(t: Test, fault: RedisFault): Promise<Measurement> {
  const { load, finish } = await startLoadedDeployment(t, fault, FULL_SIZE);
  await sleep(WARM_UP_MS);
  const causedAt = Date.now();
  await fault.cause();
  const restoredAt = Date.now();
  const recovery = await watchRecovery(load, { causedAt, restoredAt, isAffected: fault.isAffected });
  t.ok(
    recovery.before <= MAX_LATENCY_BEFORE_MS,
    `the machine is quiet: ${recovery.before} ms before the fault`,
  );
  t.ok(recovery.ms <= MAX_RECOVERY_MS, `normal latency after ${recovery.ms} ms`);
  return { ...(await finish()), recovery };
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
