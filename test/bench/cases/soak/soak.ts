import { setTimeout as sleep } from "node:timers/promises";
import type { BenchCase, Contestant, Sample } from "../../frame/case.ts";
import type { BenchContext } from "../../frame/context.ts";
import { readRssMb } from "../../frame/memory.ts";
import { startMixedLoad } from "./mixed-load.ts";

/** Memory is compared from the end of the first minute on: until then, processes load code and fill caches. */
const [SOAK_SECONDS, START_SECONDS] = [300, 60];
/** Samples of the last seconds are averaged, because the garbage collector makes memory rise and fall. */
const [SAMPLE_INTERVAL_MS, AVERAGED_SAMPLES] = [1_000, 20];

const PROCESSES = ["web", "dispatcher", "scheduler"] as const;
type ProcessName = (typeof PROCESSES)[number];
type Pids = Readonly<Record<ProcessName, number>>;
type Memory = Record<ProcessName, number>;

const readMemory = async (pids: Pids): Promise<Memory> =>
  Object.fromEntries(
    await Promise.all(PROCESSES.map(async (name) => [name, await readRssMb(pids[name])])),
  ) as Memory;

const averageOf = (samples: readonly Memory[]): Memory =>
  Object.fromEntries(
    PROCESSES.map((name) => [name, samples.reduce((sum, sample) => sum + sample[name], 0) / samples.length]),
  ) as Memory;

/** Returns the average memory of the last samples of this time. */
async function watchMemory(pids: Pids, seconds: number): Promise<Memory> {
  const samples: Memory[] = [];
  const endsAt = performance.now() + seconds * 1_000;
  do {
    await sleep(SAMPLE_INTERVAL_MS);
    samples.push(await readMemory(pids));
  } while (performance.now() < endsAt);
  return averageOf(samples.slice(-AVERAGED_SAMPLES));
}

interface Soak {
  /** After one minute, and at the end. */
  first: Sample;
  last: Sample;
}

/** Runs the load once; the contestants report the memory at its beginning and at its end. */
async function soak(context: BenchContext): Promise<Soak> {
  const { pids, stop } = await startMixedLoad(context);
  const first = await watchMemory(pids, context.count(START_SECONDS, 1));
  const last = await watchMemory(pids, context.count(SOAK_SECONDS - START_SECONDS, 1));
  await stop();
  return { first: { values: first, cpu: {} }, last: { values: last, cpu: {} } };
}

async function start(context: BenchContext): Promise<Contestant[]> {
  let result: Promise<Soak> | undefined;
  const run = () => {
    result ??= soak(context);
    return result;
  };
  return [
    { name: "herald", run: async () => (await run()).last },
    { name: "first-minute", run: async () => (await run()).first },
  ];
}

/** The memory of Herald's processes after five minutes of mixed load, beside their memory after the first minute. */
export const SOAK: BenchCase = {
  name: "soak",
  onlyWhenNamed: true,
  variants: [
    {
      name: "5-minutes",
      // A tenth is what the garbage collector's rhythm changes from one minute to the next.
      measures: PROCESSES.map((value) => ({
        value,
        suffix: value,
        unit: "MB",
        better: "lower",
        targets: { "first-minute": 0.9 },
      })),
      isInSmokeTest: true,
      once: true,
      start,
    },
  ],
};
