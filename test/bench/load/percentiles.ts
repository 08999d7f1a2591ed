/** The 50th and 99th percentile of times in milliseconds. */
export function percentilesOf(times: readonly number[]): { p50: number; p99: number } {
  const sorted = Float64Array.from(times).sort();
  const at = (fraction: number) => sorted[Math.floor(sorted.length * fraction)] ?? Number.NaN;
  return { p50: at(0.5), p99: at(0.99) };
}
