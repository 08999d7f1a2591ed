import { spawnSync } from "node:child_process";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { findProgram, type Program } from "../../src/local/programs.ts";
import { markdownTable } from "../../tools/docs/markdown.ts";
import { CASES } from "./cases/index.ts";
import type { FailoverCase, Measurement } from "./frame/case.ts";

/** A row of the table in docs/operate/scaling.md; its last cell has the name of the case. */
type Row = readonly string[];

const HEAD = [
  "engine",
  "version",
  "fault",
  "items",
  "lost",
  "doubled",
  "longest pause",
  "latency before, during, after",
  "recovery",
  "repeat it with",
] as const;

const COMMAND = "npm run test:failover -- ";

export const toRow = ({ name, engine, program, fault }: FailoverCase, measurement: Measurement): Row => {
  const { items, lost, doubled, longestGapMs, recovery } = measurement;
  return [
    engine,
    versionOf(program),
    fault,
    items.toLocaleString("en"),
    String(lost),
    String(doubled),
    seconds(longestGapMs),
    recovery ? `${recovery.before}, ${recovery.during ?? "-"}, ${recovery.after} ms` : "-",
    recovery ? seconds(recovery.ms) : "-",
    `\`${COMMAND}${name}\``,
  ];
};

const seconds = (milliseconds: number): string => `${(milliseconds / 1_000).toFixed(1)} s`;

/** `Redis server v=7.0.15 sha=...`, `postgres (PostgreSQL) 15.18`. */
function versionOf(program: Program): string {
  const path = findProgram(program, process.env.PATH ?? "") as string;
  const { stdout } = spawnSync(path, ["--version"], { encoding: "utf8" });
  return /\d+(\.\d+)+/.exec(stdout)?.[0] ?? "unknown";
}

export const resultsTable = (rows: readonly Row[]): string => markdownTable(HEAD, rows);

const [BEGIN, END] = ["<!-- results of npm run test:failover -->", "<!-- end of the results -->"];

/** Replaces the rows on the page by what `change` makes of them. */
export function updatePage(root: string, change: (stored: readonly Row[]) => readonly Row[]): void {
  const file = join(root, "docs/operate/scaling.md");
  const page = readFileSync(file, "utf8");
  const [begin, end] = [page.indexOf(BEGIN), page.indexOf(END)];
  if (begin < 0 || end < begin) throw new Error(`${file} has no place for the results`);
  const [, , ...stored] = page
    .slice(begin + BEGIN.length, end)
    .split("\n")
    .filter(Boolean);
  const rows = change(stored.map((line) => line.slice(2, -2).split(" | ")));
  writeFileSync(file, `${page.slice(0, begin)}${BEGIN}\n${resultsTable(rows)}\n${page.slice(end)}`);
}

const nameOf = (row: Row): string => (row.at(-1) as string).slice(COMMAND.length + 1, -1);

/** New rows replace those of the same case; rows of cases that are gone are dropped. */
export const mergeRows = (stored: readonly Row[], rows: readonly Row[]): readonly Row[] =>
  CASES.flatMap(({ name }) => {
    const row = [...rows, ...stored].find((each) => nameOf(each) === name);
    return row ? [row] : [];
  });
