import t from "tap";
import { pollDelay } from "../../../../../src/resources/embed/page/browser/poller.ts";

const delay = (isRunning: boolean, isHidden: boolean, failures = 0) =>
  pollDelay({ isRunning, isHidden, failures }, () => 0.5);

t.test("the page asks often while a try runs, and rarely while it is hidden or idle", async (t) => {
  t.equal(delay(true, false), 1_000);
  t.equal(delay(true, true), 5_000);
  t.equal(delay(false, false), 20_000);
  t.equal(delay(false, true), 120_000);
});

t.test(
  "failures double the delay up to a minute; a hidden page never asks more often than without them",
  async (t) => {
    t.same(
      [1, 2, 3, 4, 5, 6, 7, 1_000].map((failures) => delay(true, false, failures)),
      [2_000, 4_000, 8_000, 16_000, 32_000, 60_000, 60_000, 60_000],
    );
    t.equal(delay(false, true, 1), 120_000);
  },
);

t.test("the delay varies by a tenth", async (t) => {
  const at = (random: number) => pollDelay({ isRunning: true, isHidden: false, failures: 0 }, () => random);
  t.equal(at(0), 900);
  t.equal(at(1), 1_100);
});
