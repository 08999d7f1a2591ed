import { readFileSync } from "node:fs";
import { join } from "node:path";
import t from "tap";
import { packageRoot } from "../../../src/runtime/package-root.ts";
import { CASES } from "../cases/index.ts";
import type { BenchResult } from "../frame/results.ts";
import { readOptions } from "../options.ts";
import { drawChart } from "./chart.ts";
import { mergeResults, readmeTable, resultsTable } from "./document.ts";
import { toCells } from "./format.ts";
import { toJson } from "./json.ts";

const RESULT: BenchResult = {
  name: "webhook-endpoint/10/express",
  herald: 3_000,
  peer: 2_000,
  ratio: 1.5,
  spread: [1.4, 1.6],
  unit: "updates/s",
  target: 2,
  reached: false,
  better: "higher",
  cpu: { herald: { web: 250, load: 20 }, peer: { peer: 200 } },
  rounds: 5,
};

const ALONE: BenchResult = { ...RESULT, name: "webhook-endpoint/open-loop/-", peer: null, ratio: null };

t.test("the table shows a target that is not reached", async (t) => {
  const cells = [
    "webhook-endpoint/10/express",
    "3,000",
    "2,000",
    "updates/s",
    "1.50x",
    "1.40x to 1.60x",
    "2x",
    "NOT REACHED",
  ];
  t.same(toCells(RESULT), [...cells, "web 250", "peer 200"]);
});

t.test("infinite values stay infinite in the JSON file", async (t) => {
  t.equal(JSON.parse(toJson({ peer: Number.POSITIVE_INFINITY })).peer, Number.POSITIVE_INFINITY);
});

t.test("the chart has a bar for each row with a peer", async (t) => {
  const chart = drawChart([RESULT, ALONE, { ...RESULT, ratio: Number.POSITIVE_INFINITY }]);
  t.equal(chart.match(/<rect /g)?.length, 2);
  t.notMatch(chart, /NaN|Infinity/);
});

t.test("README.md and docs/benchmarks.md show the rows of docs/benchmarks.json", async (t) => {
  const read = (file: string) => readFileSync(join(packageRoot(), file), "utf8");
  const { cases } = JSON.parse(read("docs/benchmarks.json")) as { cases: BenchResult[] };
  t.ok(read("README.md").includes(readmeTable(cases)), "README.md");
  t.ok(read("docs/benchmarks.md").includes(resultsTable(cases)), "docs/benchmarks.md");
  t.equal(read("docs/benchmarks.svg"), drawChart(cases), "the chart");
});

t.test("a run of some cases replaces all their rows and keeps those of the others", async (t) => {
  const run = { date: "2026-01-01", machine: "m", loadBefore: 0 };
  const rows = (...names: string[]) => names.map((name) => ({ ...RESULT, name, ...run }));
  const merged = mergeResults(
    rows("intake/64/express", "webhook-endpoint/7/express"),
    rows("webhook-endpoint/1/express"),
  );
  t.same(
    merged.map(({ name }) => name),
    ["intake/64/express", "webhook-endpoint/1/express"],
  );
});

t.test(
  "--only names cases and variants, and --write refuses a run that is too short to be published",
  async (t) => {
    t.same(
      readOptions(["--only=webhook-endpoint,intake"], CASES).cases.map(({ name }) => name),
      ["intake", "webhook-endpoint"],
    );
    t.same(
      readOptions([], CASES).cases,
      CASES.filter(({ onlyWhenNamed }) => !onlyWhenNamed),
    );
    t.same(
      readOptions(["--only=intake/64,webhook-endpoint/10"], CASES).cases.map(({ name, variants }) => [
        name,
        variants.map((variant) => variant.name),
      ]),
      [
        ["intake", ["64"]],
        ["webhook-endpoint", ["10"]],
      ],
    );
    t.throws(() => readOptions(["--only=dor"], CASES), /there is no dor/);
    t.throws(() => readOptions(["--only=webhook-endpoint/11"], CASES), /there is no webhook-endpoint.11/);
    t.throws(() => readOptions(["--write", "--only=webhook-endpoint/10"], CASES), /whole cases/);
    t.throws(() => readOptions(["--rounds=0"], CASES), /positive/);
    t.throws(() => readOptions(["--write", "--rounds=4"], CASES), /at least 5 rounds/);
    t.throws(() => readOptions(["--write", "--scale=0.5"], CASES), /at least 5 rounds/);
  },
);
