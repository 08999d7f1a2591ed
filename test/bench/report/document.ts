import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { markdownTable } from "../../../tools/docs/markdown.ts";
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

/** The rows that README.md shows, with words for those who do not know the cases. */
const README_ROWS: readonly { name: string; work: string }[] = [
  { name: "webhook-endpoint/10/express", work: "receive webhooks of 10 updates, beside express" },
  { name: "delivery/200-slots-20-destinations/bullmq", work: "deliver events to 20 backends, beside BullMQ" },
  {
    name: "slow-neighbour/50-slots-p99/bullmq",
    work: "p99 of delivery while three other backends fail, beside BullMQ",
  },
];

/** Writes the rows into docs/benchmarks.json, and from it the tables of README.md and docs/benchmarks.md and the chart. */
export function updateDocument(root: string, results: readonly BenchResult[], run: BenchRun): void {
  const file = (extension: string) => join(root, "docs", `benchmarks.${extension}`);
  const stored = existsSync(file("json")) ? JSON.parse(readFileSync(file("json"), "utf8")).cases : [];
  const cases = mergeResults(
    stored,
    results.map((result) => ({ ...result, ...run })),
  );
  writeFileSync(file("json"), toJson({ cases }));
  writeFileSync(file("svg"), drawChart(cases));
  replaceResults(file("md"), [...describeRuns(cases), "", resultsTable(cases)]);
  replaceResults(join(root, "README.md"), [readmeTable(cases)]);
}

const [BEGIN, END] = ["<!-- results of npm run bench -->", "<!-- end of the results -->"];

function replaceResults(file: string, lines: readonly string[]): void {
  const page = readFileSync(file, "utf8");
  const [begin, end] = [page.indexOf(BEGIN), page.indexOf(END)];
  if (begin < 0 || end < begin) throw new Error(`${file} has no place for the results`);
  writeFileSync(file, `${page.slice(0, begin)}${[BEGIN, ...lines].join("\n")}\n${page.slice(end)}`);
}

export const resultsTable = (cases: readonly BenchResult[]): string =>
  tableOf(TABLE_HEAD, cases.map(toCells));

export function readmeTable(cases: readonly BenchResult[]): string {
  const rows = README_ROWS.flatMap(({ name, work }) => {
    const row = cases.find((result) => result.name === name);
    return row ? [[work, ...toCells(row).slice(1, 5)]] : [];
  });
  return tableOf(["work", ...TABLE_HEAD.slice(1, 5)], rows);
}

/** Empty while nothing is measured. */
const tableOf = (head: readonly string[], rows: readonly (readonly string[])[]): string =>
  rows.length === 0 ? "" : markdownTable(head, rows);

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
