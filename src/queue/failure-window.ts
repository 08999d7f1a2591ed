import { MINUTE, SECOND } from "../runtime/durations.ts";

/** How the calls to one destination have gone lately, as this process saw it. */
export interface Tally {
  /** Failures since the last success. */
  inARow: number;
  /** Two halves of the time that is looked at, the older one first. */
  halves: readonly [Half, Half];
}

interface Half {
  from: number;
  calls: number;
  bad: number;
}

const HALF = MINUTE / 2;
const MOST_IN_A_ROW = 5;
const ENOUGH_CALLS = 20;

const emptyHalf = (from: number): Half => ({ from, calls: 0, bad: 0 });

export const newTally = (now: number): Tally => ({ inARow: 0, halves: [emptyHalf(now), emptyHalf(now)] });

/** The tally after one more call. */
export function counted({ inARow, halves }: Tally, isBad: boolean, now: number): Tally {
  const [older, newer] = now - halves[1].from < HALF ? halves : [halves[1], emptyHalf(now)];
  const kept = now - older.from < 2 * HALF ? older : emptyHalf(now);
  const grown = { ...newer, calls: newer.calls + 1, bad: newer.bad + Number(isBad) };
  return { inARow: isBad ? inARow + 1 : 0, halves: [kept, grown] };
}

/** Whether it says nothing any more. */
export const isOver = ({ inARow, halves }: Tally, now: number): boolean =>
  inARow === 0 && now - halves[1].from > 2 * HALF;

/** Whether it is to be left alone for a while. */
export function isSick({ inARow, halves: [older, newer] }: Tally): boolean {
  const [calls, bad] = [older.calls + newer.calls, older.bad + newer.bad];
  return inARow >= MOST_IN_A_ROW || (calls >= ENOUGH_CALLS && bad * 2 >= calls);
}

/** How long it is left alone, by how often a probe has failed since. */
export const restOf = (failedProbes: number): number => Math.min(5 * SECOND * 2 ** failedProbes, 10 * MINUTE);
