import t from "tap";
import { createChangeLimit } from "../../../src/sandbox/ads/budgets-and-spend-cap.ts";

t.test("a change is possible again when the oldest one leaves the window", async (t) => {
  const scheduled: { delayMs: number; work: () => void }[] = [];
  const schedule = (delayMs: number, work: () => void) => void scheduled.push({ delayMs, work });
  const options = { maxChanges: 2, windowMs: 1000, refusal: "budgetChangedTooOften" } as const;
  const limit = createChangeLimit({ schedule }, options);
  limit.count("a");
  t.doesNotThrow(() => limit.check("a"));
  limit.count("a");
  t.throws(() => limit.check("a"), { code: 613 });
  t.doesNotThrow(() => limit.check("b"), "another object has its own count");
  t.equal(scheduled[0]?.delayMs, 1000);
  scheduled[0]?.work();
  t.doesNotThrow(() => limit.check("a"));
});
