import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { markdownTable } from "../../../src/composition/docs/markdown.ts";
import { CASES } from "../cases/index.ts";
import type { BenchResult } from "../frame/results.ts";
import { drawChart } from "./chart.ts";
import { formatNumber, TABLE_HEAD, toCells } from "./format.ts";
import { type BenchRun, toJson } from "./json.ts";

/** A row of docs/benchmarks.json, which collects the newest row of each case from several runs. */
type DatedResult = BenchResult & BenchRun;

const caseOf = ({ name }: BenchResult): string => name.split("/")[0] as string;

/** Replaces all rows of the cases that ran and keeps those of the other cases, in the order of the cases. */
export function mergeResults(
  stored: readonly DatedResult[],
  results: readonly DatedResult[],
): readonly DatedResult[] {
  const ran = new Set(results.map(caseOf));
  const merged = [...stored.filter((row) => !ran.has(caseOf(row))), ...results];
  return CASES.flatMap(({ name }) => merged.filter((row) => caseOf(row) === name));
}

const [BEGIN, END] = ["<!-- results of npm run bench -->", "<!-- end of the results -->"];

/** Writes the rows into docs/benchmarks.json, and from it the table and the chart of docs/benchmarks.md. */
export function updateDocument(root: string, results: readonly BenchResult[], run: BenchRun): void {
  const file = (extension: string) => join(root, "docs", `benchmarks.${extension}`);
  const stored = existsSync(file("json")) ? JSON.parse(readFileSync(file("json"), "utf8")).cases : [];
  const cases = mergeResults(
    stored,
    results.map((result) => ({ ...result, ...run })),
  );
  writeFileSync(file("json"), toJson({ cases }));
  writeFileSync(file("svg"), drawChart(cases));
  const page = readFileSync(file("md"), "utf8");
  writeFileSync(file("md"), fillResults(page, cases));
}

function fillResults(page: string, cases: readonly DatedResult[]): string {
  const [begin, end] = [page.indexOf(BEGIN), page.indexOf(END)];
  if (begin < 0 || end < begin) throw new Error("docs/benchmarks.md has no place for the results");
  const table = markdownTable(TABLE_HEAD, cases.map(toCells));
  const parts = [BEGIN, ...describeRuns(cases), "", table, ""];
  return page.slice(0, begin) + parts.join("\n") + page.slice(end);
}

/** One line per machine, with the days on which its rows were measured. */
function describeRuns(cases: readonly DatedResult[]): string[] {
  const machines = [...new Set(cases.map(({ machine }) => machine))];
  return machines.map((machine) => {
    const rows = cases.filter((row) => row.machine === machine);
    const days = [...new Set(rows.map(({ date }) => date.slice(0, 10)))].sort();
    const load = formatNumber(Math.max(...rows.map(({ loadBefore }) => loadBefore)));
    return `Measured on ${days.join(", ")}: ${machine}. Highest load average before a run: ${load}.`;
  });
}
