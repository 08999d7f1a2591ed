import t from "tap";
import { nextDelay, parseRetryAfter } from "../../src/delivery/retry-schedule.ts";
import { DAY, HOUR, MINUTE, SECOND } from "../../src/runtime/durations.ts";

const EXPECTED_DELAYS_MS = [
  ...[5 * SECOND, 30 * SECOND, 2 * MINUTE, 10 * MINUTE, 30 * MINUTE],
  ...[1 * HOUR, 2 * HOUR, 4 * HOUR, 8 * HOUR, 12 * HOUR, 24 * HOUR, 24 * HOUR],
];

t.test("there are thirteen attempts, with the schedule's delays plus or minus a fifth", async (t) => {
  for (const [index, pause] of EXPECTED_DELAYS_MS.entries()) {
    const delays = Array.from({ length: 500 }, () => nextDelay(index + 1) as number);
    const [min, max] = [Math.min(...delays) / pause, Math.max(...delays) / pause];
    t.ok(min >= 0.8 && max <= 1.2, `after attempt ${index + 1}`);
    t.ok(min < 0.85 && max > 1.15, "spread over the whole range");
  }
  t.equal(nextDelay(13), undefined);
  t.equal(nextDelay(14), undefined);
});

const NOW = Date.UTC(2026, 10, 15, 8, 0, 0);

const RETRY_AFTER_CASES: [string | null, number][] = [
  [null, 0],
  ["120", 120 * SECOND],
  [" 7 ", 7 * SECOND],
  ["0", 0],
  ["86400", DAY],
  ["86401", DAY],
  ["9".repeat(400), DAY],
  ["Sun, 15 Nov 2026 08:10:00 GMT", 10 * MINUTE],
  ["Sunday, 15-Nov-26 08:10:00 GMT", 10 * MINUTE],
  ["Sun, 15 Nov 2026 07:59:59 GMT", 0],
  ["Fri, 15 Nov 2097 08:00:00 GMT", DAY],
  ["Fri, 99 Nov 2097 08:00:00 GMT", 0],
  ["", 0],
  ["-5", 0],
  ["1.5", 0],
  ["1e9", 0],
  ["soon", 0],
  ["soon 2100", 0],
  ["in 2 hours", 0],
  ["2099-01-01", 0],
  ["120, 240", 0],
];

t.test("Retry-After is parsed as seconds or as a date, up to a day, and otherwise ignored", async (t) => {
  for (const [header, delay] of RETRY_AFTER_CASES)
    t.equal(parseRetryAfter(header, NOW), delay, `${header}`.slice(0, 40));
});
