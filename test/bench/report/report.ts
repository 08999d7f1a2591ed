import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { packageRoot } from "../../../src/runtime/package-root.ts";
import type { BenchResult } from "../frame/results.ts";
import { drawChart } from "./chart.ts";
import { updateDocument } from "./document.ts";
import { TABLE_HEAD, toCells } from "./format.ts";
import { type BenchRun, toJson } from "./json.ts";

interface ReportOptions {
  run: BenchRun;
  /** Updates docs/benchmarks.*. */
  write: boolean;
  say(line: string): void;
}

/** Prints the table and writes dist/bench.json and dist/bench.svg. */
export function reportResults(results: readonly BenchResult[], { run, write, say }: ReportOptions): void {
  const folder = join(packageRoot(), "dist");
  mkdirSync(folder, { recursive: true });
  writeFileSync(join(folder, "bench.json"), toJson({ cases: results, ...run }));
  writeFileSync(join(folder, "bench.svg"), drawChart(results));
  say(`\n${textTable([TABLE_HEAD, ...results.map(toCells)])}\n`);
  say(`${run.machine}; medians of ${results[0]?.rounds} rounds. Written: dist/bench.json, dist/bench.svg`);
  if (write) updateDocument(packageRoot(), results, run);
}

function textTable(rows: readonly (readonly string[])[]): string {
  const [head = []] = rows;
  const widths = head.map((_, column) => Math.max(...rows.map((row) => (row[column] ?? "").length)));
  return rows.map((row) => row.map((cell, column) => cell.padEnd(widths[column] ?? 0)).join("  ")).join("\n");
}
