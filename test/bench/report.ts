import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { cpus, release, type as systemName, totalmem } from "node:os";
import { join } from "node:path";
import { Redis } from "ioredis";
import pg from "pg";
import { packageRoot } from "../../src/runtime/package-root.ts";
import { code, markdownTable } from "../../tools/docs/markdown.ts";
import { CASES } from "./cases.ts";
import type { BenchResult } from "./results.ts";

/** The circumstances of a run. */
export interface BenchRun {
  date: string;
  machine: string;
  /** The load average of the machine before the run; rates are only worth something near 0. */
  loadBefore: number;
}

/** Describes the machine and the versions of the programs in one line. */
export async function describeMachine(databaseUrl: string, redisUrl: string): Promise<string> {
  const client = new pg.Client({ connectionString: databaseUrl });
  await client.connect();
  const { rows } = await client.query<{ server_version: string }>("show server_version");
  await client.end();
  const redis = new Redis(redisUrl);
  const redisVersion = /redis_version:(\S+)/.exec(await redis.info("server"))?.[1];
  await redis.quit();
  const [processor] = cpus();
  const hardware = `${cpus().length} cores (${processor?.model.trim()}), ${Math.round(totalmem() / 1024 ** 3)} GB`;
  const [postgresVersion] = (rows[0]?.server_version ?? "").split(" ");
  const programs = `Node.js ${process.version}, PostgreSQL ${postgresVersion}, Redis ${redisVersion}`;
  return `${hardware}, ${systemName()} ${release()}, ${programs}`;
}

/** Three significant digits; infinite values are those of items that never arrived. */
function formatNumber(value: number): string {
  if (!Number.isFinite(value)) return "∞";
  if (value === 0) return "0";
  if (value >= 100) return Math.round(value).toLocaleString("en-US");
  return value.toFixed(value >= 10 ? 1 : 2);
}

const formatRatio = (ratio: number): string => `${formatNumber(ratio)}x`;

function formatTarget({ ratio, target, better, unit }: BenchResult): string {
  if (target === null) return "-";
  if (ratio !== null) return `${target}x`;
  return `${better === "lower" ? "at most" : "at least"} ${formatNumber(target)} ${unit}`;
}

const formatReached = ({ reached }: BenchResult): string =>
  reached === null ? "-" : reached ? "yes" : "NOT REACHED";

const formatRate = (rate: number | null | undefined): string =>
  rate === null || rate === undefined ? "-" : formatNumber(rate);

/** `web 250, postgres 80` */
const formatCpu = (cpu: Readonly<Record<string, number>> = {}): string =>
  Object.entries(cpu)
    .map(([name, microseconds]) => `${name} ${formatNumber(microseconds)}`)
    .join(", ") || "-";

const TABLE_HEAD = [
  "case/peer",
  "Herald",
  "peer",
  "unit",
  "ratio",
  "spread",
  "target",
  "reached",
  "Herald, items/s",
  "peer, items/s",
  "CPU of Herald, µs per item",
  "CPU of the peer, µs per item",
];

/** The cells of one row of the table. */
function toCells(result: BenchResult): string[] {
  const { name, value, unit, herald, peer, ratio } = result;
  const format = ratio === null ? formatNumber : formatRatio;
  return [
    name,
    formatNumber(herald.value),
    peer ? formatNumber(peer.value) : "-",
    value === "cpu" ? unit : `${unit} (${value})`,
    ratio === null ? "-" : formatRatio(ratio),
    result.spread.map(format).join(" to "),
    formatTarget(result),
    formatReached(result),
    formatRate(herald.rate),
    formatRate(peer?.rate),
    formatCpu(herald.cpu),
    formatCpu(peer?.cpu),
  ];
}

/** JSON has no infinity, but every parser reads this number as infinite. */
const INFINITE = "1e999";

/** Formats a report as JSON. Infinite values stay infinite: null would mean that there is no peer. */
const toJson = (report: unknown): string =>
  `${JSON.stringify(report, (_, value) => (value === Number.POSITIVE_INFINITY ? INFINITE : value), 2).replaceAll(`"${INFINITE}"`, INFINITE)}\n`;

interface ReportOptions {
  run: BenchRun;
  /** Updates docs/benchmarks.* and README.md. */
  write: boolean;
  say(line: string): void;
}

/** Prints the table and writes dist/bench.json. */
export function reportResults(results: readonly BenchResult[], { run, write, say }: ReportOptions): void {
  const file = join(packageRoot(), "dist/bench.json");
  mkdirSync(join(packageRoot(), "dist"), { recursive: true });
  writeFileSync(file, toJson({ cases: results, ...run }));
  say(`\n${textTable([TABLE_HEAD, ...results.map(toCells)])}\n`);
  say(`${run.machine}; medians of ${results[0]?.rounds} rounds. Written: dist/bench.json`);
  if (!write) return;
  for (const [path, text] of documentsOf(mergeResults(readStored(), datedBy(results, run))))
    writeFileSync(join(packageRoot(), path), text);
}

function textTable(rows: readonly (readonly string[])[]): string {
  const [head = []] = rows;
  const widths = head.map((_, column) => Math.max(...rows.map((row) => (row[column] ?? "").length)));
  return rows.map((row) => row.map((cell, column) => cell.padEnd(widths[column] ?? 0)).join("  ")).join("\n");
}

/** A row of docs/benchmarks.json, which collects the newest rows of each case from several runs. */
type DatedResult = BenchResult & BenchRun;

const datedBy = (results: readonly BenchResult[], run: BenchRun): DatedResult[] =>
  results.map((result) => ({ ...result, ...run }));

const RESULTS_FILE = "docs/benchmarks.json";

export function readStored(): DatedResult[] {
  const file = join(packageRoot(), RESULTS_FILE);
  return existsSync(file) ? JSON.parse(readFileSync(file, "utf8")).cases : [];
}

const caseOf = ({ name }: BenchResult): string => name.split("/")[0] as string;

/** Replaces all rows of the cases that ran and keeps those of the other cases, in the order of the cases. */
export function mergeResults(stored: readonly DatedResult[], results: readonly DatedResult[]): DatedResult[] {
  const ran = new Set(results.map(caseOf));
  const merged = [...stored.filter((row) => !ran.has(caseOf(row))), ...results];
  return CASES.flatMap(({ name }) => merged.filter((row) => caseOf(row) === name));
}

/** The rows that README.md shows, with words for those who do not know the cases. */
const README_ROWS: Readonly<Record<string, string>> = {
  "webhooks-10/express": "receive webhooks of 10 updates, beside express",
  "deliveries-200/bullmq": "deliver events to 200 backends, beside BullMQ",
  "failing-neighbours/bullmq": "p99 of delivery while three other backends fail, beside BullMQ",
};

function readmeTable(cases: readonly BenchResult[]): string {
  const rows = Object.entries(README_ROWS).flatMap(([name, work]) => {
    const row = cases.find((result) => result.name === name);
    return row ? [[work, ...toCells(row).slice(1, 5)]] : [];
  });
  return markdownTable(["work", ...TABLE_HEAD.slice(1, 5)], rows);
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

const casesTable = (): string =>
  markdownTable(
    ["case", "what it measures"],
    CASES.map(({ name, about }) => [code(name), about]),
  );

/** The files that show the results, as they should be. */
export function documentsOf(cases: readonly DatedResult[]): Map<string, string> {
  const table = markdownTable(TABLE_HEAD, cases.map(toCells));
  const parts = {
    results: `${describeRuns(cases).join("\n")}\n\n${table}`,
    cases: casesTable(),
    summary: readmeTable(cases),
  };
  const pages = ["docs/benchmarks.md", "README.md"].map((page) => [page, fillParts(page, parts)] as const);
  return new Map([[RESULTS_FILE, toJson({ cases })], ["docs/benchmarks.svg", drawChart(cases)], ...pages]);
}

const END = "<!-- end -->";

/** Replaces the parts of a page that stand between `<!-- benchmark: name -->` and `<!-- end -->`. */
function fillParts(page: string, parts: Readonly<Record<string, string>>): string {
  let text = readFileSync(join(packageRoot(), page), "utf8");
  for (const [name, part] of Object.entries(parts)) {
    const begin = `<!-- benchmark: ${name} -->\n`;
    const [from, to] = [text.indexOf(begin), text.indexOf(END, text.indexOf(begin))];
    if (from >= 0) text = `${text.slice(0, from)}${begin}${part}\n${text.slice(to)}`;
  }
  return text;
}

const [WIDTH, NAME_WIDTH, VALUE_WIDTH] = [960, 270, 250];
const [ROW_HEIGHT, TOP, BOTTOM] = [22, 60, 12];
/** The axis is logarithmic, because ratios are. Ratios outside end at its edge. */
const [LOWEST, HIGHEST] = [0.1, 100];
const GRID = [0.1, 0.3, 1, 3, 10, 30, 100];

const STYLE = `
  svg { color-scheme: light dark; background: #fff }
  text { font: 12px system-ui, sans-serif; fill: #1f2328 }
  .grid { stroke: #d1d9e0 } .one { stroke: #59636e; stroke-width: 1.5 } .target { stroke: #1f2328; stroke-width: 2 }
  .muted { fill: #59636e } .reached { fill: #1a7f37 } .missed { fill: #cf222e } .open { fill: #59636e }
  @media (prefers-color-scheme: dark) {
    svg { background: #0d1117 }
    text { fill: #f0f6fc }
    .grid { stroke: #3d444d } .one { stroke: #9198a1 } .target { stroke: #f0f6fc }
    .muted { fill: #9198a1 } .reached { fill: #3fb950 } .missed { fill: #f85149 } .open { fill: #9198a1 }
  }`;

function toX(ratio: number): number {
  const limited = Math.min(Math.max(ratio, LOWEST), HIGHEST);
  const share = Math.log(limited / LOWEST) / Math.log(HIGHEST / LOWEST);
  return Math.round(NAME_WIDTH + share * (WIDTH - NAME_WIDTH - VALUE_WIDTH));
}

type Compared = BenchResult & { ratio: number };

const isCompared = (result: BenchResult): result is Compared => result.ratio !== null;

const classOf = ({ reached }: BenchResult): string =>
  reached === null ? "open" : reached ? "reached" : "missed";

function drawRow(result: Compared, index: number): string {
  const y = TOP + index * ROW_HEIGHT;
  const [from, to] = [Math.min(toX(1), toX(result.ratio)), Math.max(toX(1), toX(result.ratio))];
  const target = result.target === null ? undefined : toX(result.target);
  const required =
    result.target === null ? "" : `, target ${result.target}x${result.reached ? "" : " NOT REACHED"}`;
  return [
    `<text x="${NAME_WIDTH - 10}" y="${y + 15}" text-anchor="end">${result.name}</text>`,
    `<rect class="${classOf(result)}" x="${from}" y="${y + 4}" width="${Math.max(1, to - from)}" height="14"/>`,
    ...(target ? [`<line class="target" x1="${target}" x2="${target}" y1="${y + 1}" y2="${y + 21}"/>`] : []),
    `<text x="${WIDTH - VALUE_WIDTH + 8}" y="${y + 15}">${formatRatio(result.ratio)}<tspan class="muted">${required}</tspan></text>`,
  ].join("\n");
}

/** Draws the ratios as bars from 1, with a line at each target. Rows without a peer are in the table only. */
export function drawChart(results: readonly BenchResult[]): string {
  const rows = results.filter(isCompared);
  const height = TOP + rows.length * ROW_HEIGHT + BOTTOM;
  const grid = GRID.map((ratio) => {
    const x = toX(ratio);
    return `<line class="${ratio === 1 ? "one" : "grid"}" x1="${x}" x2="${x}" y1="${TOP - 6}" y2="${height - BOTTOM}"/>
<text class="muted" x="${x}" y="${TOP - 12}" text-anchor="middle">${ratio}x</text>`;
  });
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${WIDTH} ${height}" width="${WIDTH}" height="${height}" role="img" aria-labelledby="title">`,
    `<title id="title">Herald beside its peers: to the right of 1x Herald is better; the short lines are targets</title>`,
    `<style>${STYLE}\n</style>`,
    `<text x="10" y="18">Herald beside its peers. Right of 1x: Herald is better. Short lines: targets.</text>`,
    ...grid,
    ...rows.map(drawRow),
    "</svg>\n",
  ].join("\n");
}
