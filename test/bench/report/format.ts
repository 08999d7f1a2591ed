import type { BenchResult } from "../frame/results.ts";

/** Three significant digits; infinite values are those of items that never arrived. */
export function formatNumber(value: number): string {
  if (!Number.isFinite(value)) return "∞";
  if (value === 0) return "0";
  if (value >= 100) return Math.round(value).toLocaleString("en-US");
  return value.toFixed(value >= 10 ? 1 : 2);
}

export const formatRatio = (ratio: number): string => `${formatNumber(ratio)}x`;

export const formatSpread = ({ ratio, spread: [low, high] }: BenchResult): string =>
  ratio === null
    ? `${formatNumber(low)} to ${formatNumber(high)}`
    : `${formatRatio(low)} to ${formatRatio(high)}`;

export function formatTarget({ ratio, target, better, unit }: BenchResult): string {
  if (target === null) return "-";
  if (ratio !== null) return `${target}x`;
  return `${better === "lower" ? "at most" : "at least"} ${formatNumber(target)} ${unit}`;
}

export const formatReached = ({ reached }: BenchResult): string =>
  reached === null ? "-" : reached ? "yes" : "NOT REACHED";

/** `web 250 + postgres 80`; the load generator is left out, because it belongs to no contestant. */
export const formatCpu = (cpu: Readonly<Record<string, number>> | null): string =>
  Object.entries(cpu ?? {})
    .filter(([name]) => name !== "load")
    .map(([name, us]) => `${name} ${formatNumber(us)}`)
    .join(", ") || "-";

export const TABLE_HEAD = [
  "case/variant/peer",
  "Herald",
  "peer",
  "unit",
  "ratio",
  "spread",
  "target",
  "reached",
  "CPU of Herald, µs per item",
  "CPU of the peer, µs per item",
];

/** The cells of one row of the table. */
export const toCells = (result: BenchResult): string[] => [
  result.name,
  formatNumber(result.herald),
  result.peer === null ? "-" : formatNumber(result.peer),
  result.unit,
  result.ratio === null ? "-" : formatRatio(result.ratio),
  formatSpread(result),
  formatTarget(result),
  formatReached(result),
  formatCpu(result.cpu.herald),
  formatCpu(result.cpu.peer),
];
