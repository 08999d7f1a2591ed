/** The circumstances of a run. */
export interface BenchRun {
  date: string;
  machine: string;
  /** The load average of the machine before the run; the table is only worth something near 0. */
  loadBefore: number;
}

/** JSON has no infinity, but every parser reads this number as infinite. */
const INFINITE = "1e999";

/** Formats a report as JSON. Infinite values stay infinite: null would mean that there is no peer. */
export const toJson = (report: unknown): string =>
  `${JSON.stringify(report, (_, value) => (value === Number.POSITIVE_INFINITY ? INFINITE : value), 2).replaceAll(`"${INFINITE}"`, INFINITE)}\n`;
