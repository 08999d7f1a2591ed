import t, { type Test } from "tap";
import { CASES } from "../bench/cases/index.ts";
import type { BenchCase, Variant } from "../bench/frame/case.ts";
import { startProgram } from "../bench/frame/processes.ts";
import type { BenchResult } from "../bench/frame/results.ts";
import { runCases } from "../bench/frame/run-cases.ts";
import { startReceiver } from "../bench/programs/receiver.ts";
import { toJson } from "../bench/report/json.ts";
import { backlogContestant } from "../bench/systems/work-off-backlog.ts";

/** Groups that run at a time: most of a case is the start of its processes. */
const CONCURRENT_GROUPS = 3;
/** Cases and contestants that start equal processes, and leave no work behind for the next one, share them. */
const SHARING_CASES = [["intake", "door"], ["delivery", "slow-neighbour"], ["growth"], ["backlog"]];

interface CaseGroup {
  cases: BenchCase[];
  sharing: { isShared?: true };
}

/** The cases that share processes, and each of the others alone. */
function groupsOfCases(): CaseGroup[] {
  const groups = SHARING_CASES.map((names) => CASES.filter(({ name }) => names.includes(name)));
  const others = CASES.filter((benchCase) => !groups.flat().includes(benchCase));
  return [
    ...groups.map((cases) => ({ cases, sharing: { isShared: true as const } })),
    ...others.map((benchCase) => ({ cases: [benchCase], sharing: {} })),
  ];
}

/** Runs all cases with a few items; a contestant that loses items or answers wrongly fails its case. */
async function runAllCases(t: Test): Promise<BenchResult[]> {
  const say = (line: string) => t.comment(line);
  const waiting = groupsOfCases();
  const runNext = async (): Promise<BenchResult[]> => {
    const next = waiting.shift();
    if (!next) return [];
    const options = { rounds: 1, scale: 1, isSmokeTest: true, say, ...next.sharing };
    return [...(await runCases(next.cases, options)), ...(await runNext())];
  };
  const runs = await Promise.allSettled(Array.from({ length: CONCURRENT_GROUPS }, runNext));
  return runs.flatMap((run) => {
    if (run.status === "rejected") throw run.reason;
    return run.value;
  });
}

t.test("every case of the benchmark runs, and its contestants process all items", async (t) => {
  const { cases } = JSON.parse(toJson({ cases: await runAllCases(t) })) as { cases: BenchResult[] };
  const names = new Set(cases.map(({ name }) => name.split("/")[0] as string));
  t.same([...names].sort(), CASES.map(({ name }) => name).sort());
  for (const { name, herald, peer, ratio, spread, unit, target, reached } of cases) {
    t.match(name, /^[a-z-]+\/[a-z0-9-]+\/[a-z-]+$/);
    t.ok(typeof herald === "number" && typeof unit === "string", `${name} has a value`);
    const isAlone = name.endsWith("/-");
    t.same([peer === null, ratio === null], [isAlone, isAlone], `${name} has a peer and a ratio, or neither`);
    t.ok(spread.length === 2 && spread[0] <= spread[1], `${name} has a spread`);
    t.equal(reached === null, target === null, `${name} has a verdict if it has a target`);
  }
});

t.test("the names of cases and variants are unique", async (t) => {
  const names = CASES.flatMap(({ name, variants }) => variants.map((variant) => `${name}/${variant.name}`));
  t.equal(new Set(names).size, names.length);
});

t.test("a process that dies during a round fails the run", async (t) => {
  const variant: Variant = {
    name: "dead-peer",
    isInSmokeTest: true,
    measures: [],
    async start(context) {
      const { pid } = await startProgram(context, "peers/upload-server");
      return [{ name: "herald", run: () => new Promise(() => process.kill(pid, "SIGKILL")) }];
    },
  };
  const options = { rounds: 1, scale: 1, isSmokeTest: true, say: () => {} };
  await t.rejects(
    runCases([{ name: "test", variants: [variant] }], options),
    /test\/dead-peer failed: .*ended with SIGKILL/,
  );
});

t.test("an item that arrives twice instead of another one fails the run", async (t) => {
  const variant: Variant = {
    name: "repeated-item",
    isInSmokeTest: true,
    measures: [],
    async start(context) {
      const receiver = await startReceiver(context, "backend");
      const post = (id: string) =>
        fetch(`http://127.0.0.1:${receiver.port}/ok`, { method: "POST", headers: { "webhook-id": id } });
      const system = {
        name: "herald",
        processes: {},
        enqueue: async (ids: readonly string[]) => [...ids],
        countWritten: async () => ({ done: 2, attempts: 2 }),
        suspend() {},
        resume: () => void post("a").then(() => post("a")),
      };
      return [backlogContestant(system, { receiver, makeItems: () => ["a", "b"] })];
    },
  };
  const options = { rounds: 1, scale: 1, isSmokeTest: true, say: () => {} };
  await t.rejects(
    runCases([{ name: "test", variants: [variant] }], options),
    /test\/repeated-item failed: .*2 requests with 1 of 2 items have arrived/,
  );
});
