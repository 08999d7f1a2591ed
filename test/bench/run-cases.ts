import { setTimeout as sleep } from "node:timers/promises";
import type { BenchCase, Contestant, Peer, Sample } from "./case.ts";
import { closeAll, isPeerName, openContext } from "./context.ts";
import { type BenchResult, resultsOf } from "./results.ts";
import { createHistories } from "./stored-rows.ts";

interface RunOptions {
  cases: readonly BenchCase[];
  rounds: number;
  scale: number;
  say(line: string): void;
  /** Ends the run early. */
  signal?: AbortSignal;
}

/** Runs the cases one after another. Throws when a contestant fails, because its figures would be worthless. */
export async function runCases({ cases, ...options }: RunOptions): Promise<BenchResult[]> {
  const histories = createHistories(options.scale);
  const results: BenchResult[] = [];
  try {
    for (const benchCase of cases) results.push(...(await runCase(benchCase, { ...options, histories })));
  } finally {
    await histories.close();
  }
  return results;
}

interface CaseOptions extends Omit<RunOptions, "cases"> {
  histories: ReturnType<typeof createHistories>;
}

async function runCase(benchCase: BenchCase, options: CaseOptions): Promise<BenchResult[]> {
  const { name, peers = {}, once } = benchCase;
  const contestants: RunningContestant[] = [];
  try {
    contestants.push(await startContestant("herald", benchCase, options));
    for (const [peer, setup] of Object.entries<Peer>(peers)) {
      const { work } = benchCase;
      if (!isPeerName(peer) && !setup.work && !setup.condition) throw new Error(`there is no peer ${peer}`);
      contestants.push(await startContestant(peer, { work, ...setup }, options));
    }
    const say = (line: string) => options.say(`${name}: ${line}`);
    const samples = await runRounds(contestants, { rounds: once ? 1 : options.rounds, say });
    const [herald = [], ...others] = samples;
    const named = Object.fromEntries(Object.keys(peers).map((peer, index) => [peer, others[index] ?? []]));
    return resultsOf(benchCase, { herald, peers: named });
  } catch (error) {
    throw new Error(`${name} failed: ${error instanceof Error ? error.message : error}`, { cause: error });
  } finally {
    await closeAll(
      contestants.reverse().map(({ close }) => close),
      options.say,
    );
  }
}

interface RunningContestant {
  name: string;
  /** Does one round. Between its rounds its processes are suspended, because an idle one may take processor time too. */
  run(): Promise<Sample>;
  close(): Promise<void>;
}

/** A resumed process first does what was due meanwhile. */
const RESUME_MS = 250;

/** Starts a contestant with a database of its own. */
async function startContestant(
  name: string,
  { work, condition = {} }: Pick<BenchCase, "work" | "condition">,
  { scale, histories, signal, say }: CaseOptions,
): Promise<RunningContestant> {
  const template = condition.history ? await histories.find(condition.history) : "herald";
  const { context, failed, close } = await openContext({ scale, condition, template, say });
  const interrupt = () => context.fail(new Error("interrupted"));
  signal?.addEventListener("abort", interrupt);
  if (signal?.aborted) interrupt();
  context.teardown(() => signal?.removeEventListener("abort", interrupt));
  const forAll = (action: "suspend" | "resume") => {
    for (const process of context.processes) process[action]();
  };
  try {
    const started = work(context, isPeerName(name) ? name : undefined);
    const contestant: Contestant = await Promise.race([started, failed]);
    forAll("suspend");
    return {
      name,
      async run() {
        forAll("resume");
        await sleep(RESUME_MS);
        return Promise.race([contestant.run(), failed]).finally(() => forAll("suspend"));
      },
      close,
    };
  } catch (error) {
    await close();
    throw error;
  }
}

interface Rounds {
  rounds: number;
  say(line: string): void;
}

/**
 * Runs the rounds after a warm-up, which a single round does not have. A different contestant begins each round, so that none
 * always runs first. Returns the samples of each contestant.
 */
async function runRounds(
  contestants: readonly RunningContestant[],
  { rounds, say }: Rounds,
): Promise<Sample[][]> {
  if (rounds > 1)
    for (const contestant of contestants) say(`warm-up: ${describe(contestant, await contestant.run())}`);
  const samples: Sample[][] = contestants.map(() => []);
  for (let round = 0; round < rounds; round++) {
    const texts: string[] = [];
    for (let offset = 0; offset < contestants.length; offset++) {
      const index = (round + offset) % contestants.length;
      const contestant = contestants[index] as RunningContestant;
      const sample = await contestant.run();
      samples[index]?.push(sample);
      texts.push(describe(contestant, sample));
    }
    say(`round ${round + 1} of ${rounds}: ${texts.join("; ")}`);
  }
  return samples;
}

const describe = ({ name }: RunningContestant, { values }: Sample): string =>
  `${name} ${Object.entries(values)
    .map(([value, number]) => `${value} ${number.toFixed(number < 100 ? 1 : 0)}`)
    .join(", ")}`;
