import t from "tap";
import {
  countCall,
  type FailureCounts,
  isExpired,
  newFailureCounts,
  openDuration,
  shouldOpen,
} from "../../src/queue/failure-window.ts";
import { MINUTE, SECOND } from "../../src/runtime/durations.ts";

/** One letter for each call, b for a bad one, with so many seconds between them. */
function countsAfter(calls: string, secondsApart = 1): FailureCounts {
  let counts = newFailureCounts(0);
  for (const [index, call] of [...calls].entries())
    counts = countCall(counts, call === "b", index * secondsApart * SECOND);
  return counts;
}

const CASES: [string, number, boolean, string][] = [
  ["bbbb", 1, false, "four in a row"],
  ["bbbbb", 1, true, "five in a row"],
  ["bbbbgbbbb", 1, false, "a good one between them"],
  ["gbbbbb", 1, true, "five in a row after a good one"],
  ["bbbbb", 600, true, "five in a row, however slowly"],
  ["gb".repeat(9), 1, false, "half of eighteen"],
  ["gb".repeat(10), 1, true, "half of twenty"],
  [`${"gb".repeat(9)}gg`, 1, false, "less than half of twenty"],
  ["gb".repeat(10), 7, false, "half of twenty, but not within a minute"],
  [`${"g".repeat(40)}${"gb".repeat(9)}`, 0.1, false, "few of many"],
];

t.test(
  "a destination is sick after five failures in a row, or half of twenty calls within a minute",
  async (t) => {
    for (const [calls, secondsApart, expected, name] of CASES)
      t.equal(shouldOpen(countsAfter(calls, secondsApart)), expected, name);
  },
);

t.test("what lies more than a minute back does not count", async (t) => {
  let counts = countsAfter("gb".repeat(9), 0.1);
  for (const call of "gb") counts = countCall(counts, call === "b", 2 * MINUTE);
  t.equal(shouldOpen(counts), false);
});

t.test("a tally is over once it says nothing any more, but not while it ended badly", async (t) => {
  t.equal(isExpired(countsAfter("bg"), 30 * SECOND), false);
  t.equal(isExpired(countsAfter("bg"), 70 * SECOND), true);
  t.equal(isExpired(countsAfter("gb"), 70 * SECOND), false);
});

t.test("it is left alone for 5 s, twice as long after each failed probe, 10 min at most", async (t) => {
  const durations = [5, 10, 20, 40, 80, 160, 320, 600, 600].map((seconds) => seconds * SECOND);
  t.same(
    durations.map((_, failedProbes) => openDuration(failedProbes)),
    durations,
  );
  t.equal(openDuration(2_000), 10 * MINUTE);
});
