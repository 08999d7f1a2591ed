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

/** Each letter is a call, "b" a failed one; the calls are `secondsApart`. */
function countsAfter(calls: string, secondsApart = 1): FailureCounts {
  let counts = newFailureCounts(0);
  for (const [index, call] of [...calls].entries())
    counts = countCall(counts, call === "b", index * secondsApart * SECOND);
  return counts;
}

const CASES: [string, number, boolean, string][] = [
  ["bbbb", 1, false, "four in a row"],
  ["bbbbb", 1, true, "five in a row"],
  ["bbbbgbbbb", 1, false, "a success between failures"],
  ["gbbbbb", 1, true, "five in a row after a success"],
  ["bbbbb", 600, true, "five in a row, ten minutes apart"],
  ["gb".repeat(9), 1, false, "half of eighteen"],
  ["gb".repeat(10), 1, true, "half of twenty"],
  [`${"gb".repeat(9)}gg`, 1, false, "less than half of twenty"],
  ["gb".repeat(10), 7, false, "half of twenty, but not within a minute"],
  [`${"g".repeat(40)}${"gb".repeat(9)}`, 0.1, false, "fewer than half of many"],
];

t.test(
  "a breaker opens after five failures in a row, or when half of twenty calls fail within a minute",
  async (t) => {
    for (const [calls, secondsApart, expected, name] of CASES)
      t.equal(shouldOpen(countsAfter(calls, secondsApart)), expected, name);
  },
);

t.test("calls more than a minute ago do not count", async (t) => {
  let counts = countsAfter("gb".repeat(9), 0.1);
  for (const call of "gb") counts = countCall(counts, call === "b", 2 * MINUTE);
  t.equal(shouldOpen(counts), false);
});

t.test("the counts expire a minute after a success, and not after a failure", async (t) => {
  t.equal(isExpired(countsAfter("bg"), 30 * SECOND), false);
  t.equal(isExpired(countsAfter("bg"), 70 * SECOND), true);
  t.equal(isExpired(countsAfter("gb"), 70 * SECOND), false);
});

t.test("a breaker is open for 5 s, and twice as long after each failed probe, up to 10 min", async (t) => {
  const durations = [5, 10, 20, 40, 80, 160, 320, 600, 600].map((seconds) => seconds * SECOND);
  t.same(
    durations.map((_, failedProbes) => openDuration(failedProbes)),
    durations,
  );
  t.equal(openDuration(2_000), 10 * MINUTE);
});
