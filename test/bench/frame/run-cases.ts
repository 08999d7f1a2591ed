import type { BenchCase, Contestant, Sample, Variant } from "./case.ts";
import { openContext, type Scale } from "./context.ts";
import { type BenchResult, resultsOf } from "./results.ts";

export interface RunOptions extends Scale {
  rounds: number;
  say(line: string): void;
  /** Ends the run early. */
  signal?: AbortSignal;
}

/** Runs the cases one after another. Throws when a contestant fails, because its figures would be worthless. */
export async function runCases(cases: readonly BenchCase[], options: RunOptions): Promise<BenchResult[]> {
  const results: BenchResult[] = [];
  for (const benchCase of cases)
    for (const variant of benchCase.variants) {
      if (options.isSmokeTest && !variant.isInSmokeTest) continue;
      results.push(...(await runVariant(benchCase, variant, options)));
    }
  return results;
}

async function runVariant(
  benchCase: BenchCase,
  variant: Variant,
  options: RunOptions,
): Promise<BenchResult[]> {
  const name = `${benchCase.name}/${variant.name}`;
  const { context, failed, close } = await openContext(options);
  const interrupted = () => context.fail(new Error("interrupted"));
  options.signal?.addEventListener("abort", interrupted);
  try {
    if (options.signal?.aborted) interrupted();
    const contestants = await Promise.race([variant.start(context), failed]);
    const run = (contestant: Contestant) => Promise.race([contestant.run(), failed]);
    const sayRound = (text: string) => options.say(`${name}: ${text}`);
    const plan = variant.once ? { rounds: 1, isWarmedUp: true } : { isWarmedUp: options.isSmokeTest };
    const samples = await runRounds(contestants, { ...options, ...plan, run, say: sayRound });
    return resultsOf(benchCase, variant, samples);
  } catch (error) {
    throw new Error(`${name} failed: ${error instanceof Error ? error.message : error}`, { cause: error });
  } finally {
    options.signal?.removeEventListener("abort", interrupted);
    await close();
  }
}

interface Rounds extends RunOptions {
  isWarmedUp: boolean;
  run(contestant: Contestant): Promise<Sample>;
}

/** Runs a warm-up, unless there was one, and then the rounds. A different contestant begins each round, so that no one always runs first. */
async function runRounds(contestants: readonly Contestant[], { rounds, isWarmedUp, run, say }: Rounds) {
  const samples = new Map<Contestant, Sample[]>(contestants.map((contestant) => [contestant, []]));
  if (!isWarmedUp)
    for (const contestant of contestants) say(`warm-up: ${describe(contestant, await run(contestant))}`);
  for (let round = 0; round < rounds; round++) {
    const texts: string[] = [];
    for (let index = 0; index < contestants.length; index++) {
      const contestant = contestants[(round + index) % contestants.length] as Contestant;
      const sample = await run(contestant);
      samples.get(contestant)?.push(sample);
      texts.push(describe(contestant, sample));
    }
    say(`round ${round + 1} of ${rounds}: ${texts.join("; ")}`);
  }
  return samples;
}

const describe = ({ name }: Contestant, { values }: Sample): string =>
  `${name} ${Object.entries(values)
    .map(([value, number]) => `${value} ${number.toFixed(number < 100 ? 1 : 0)}`)
    .join(", ")}`;
