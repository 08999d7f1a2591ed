import t from "tap";
import { CASES } from "../bench/cases/index.ts";
import type { Variant } from "../bench/frame/case.ts";
import { startProgram } from "../bench/frame/processes.ts";
import type { BenchResult } from "../bench/frame/results.ts";
import { runCases } from "../bench/frame/run-cases.ts";
import { startReceiver } from "../bench/programs/receiver.ts";
import { toJson } from "../bench/report/json.ts";
import { backlogContestant } from "../bench/systems/work-off-backlog.ts";

const SMOKE_TEST = { rounds: 1, scale: 1, isSmokeTest: true };

t.test("a case of the benchmark runs, and its contestants process all items", async (t) => {
  const cases = CASES.filter(({ name }) => name === "latency");
  const results = await runCases(cases, { ...SMOKE_TEST, say: (line) => t.comment(line) });
  const rows = (JSON.parse(toJson({ cases: results })) as { cases: BenchResult[] }).cases;
  t.same(
    rows.map(({ name }) => name),
    ["latency/100-p50/bullmq", "latency/100-p99/bullmq"],
  );
  for (const { name, herald, peer, ratio, spread, unit, target, reached } of rows) {
    t.ok(herald > 0 && Number(peer) > 0 && Number(ratio) > 0, `${name} has values and a ratio`);
    t.ok(spread.length === 2 && spread[0] <= spread[1], `${name} has a spread`);
    t.same([unit, target, typeof reached], ["ms", 1, "boolean"], name);
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
  const options = { ...SMOKE_TEST, say: () => {} };
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
  const options = { ...SMOKE_TEST, say: () => {} };
  await t.rejects(
    runCases([{ name: "test", variants: [variant] }], options),
    /test\/repeated-item failed: .*2 requests with 1 of 2 items have arrived/,
  );
});
