import t from "tap";
import type { PostedEvent } from "../../../../src/delivery/post-event.ts";
import { DAY, HOUR, SECOND } from "../../../../src/runtime/durations.ts";
import type { ClaimedDelivery } from "../../../../src/store/events/claim-deliveries.ts";
import {
  internalFailure,
  outcomeOfAttempt,
  postponed,
  skipped,
} from "../../../../workers/dispatcher/delivering/outcomes.ts";

const rowOf = (attempts: number, schedule_base = 0) => ({ attempts, schedule_base }) as ClaimedDelivery;

const MADE = { at: new Date(), url: "https://a.example/x", isAborted: false };

const posted = (made: Partial<PostedEvent> = {}) => ({
  ...MADE,
  ...({
    outcome: "refused",
    statusCode: 500,
    durationMs: 7,
    error: "HTTP 500",
    excerpt: "no",
    retryAfter: null,
  } as const),
  ...made,
});

const isAbout = (value: number | null, expected: number) =>
  value !== null && value >= 0.8 * expected && value <= 1.2 * expected;

t.test("a 2xx and a 410 end the delivery", async (t) => {
  const nothingMore = { delay_ms: null, restart_delay_ms: null, skip_reason: null };
  const delivered = outcomeOfAttempt(
    rowOf(3),
    posted({ outcome: "delivered", statusCode: 204, error: null }),
  );
  t.match(delivered, {
    state: "delivered",
    outcome: "delivered",
    ...nothingMore,
    attempt: { status_code: 204 },
  });
  const gone = outcomeOfAttempt(rowOf(0), posted({ statusCode: 410, error: "HTTP 410", retryAfter: "60" }));
  t.match(gone, { state: "failed", outcome: "refused", ...nothingMore, attempt: { error: "HTTP 410" } });
});

t.test("any other answer is retried by the schedule, which counts from its base", async (t) => {
  const first = outcomeOfAttempt(rowOf(0), posted());
  t.equal(first.state, "retrying");
  t.ok(isAbout(first.delay_ms, 5 * SECOND));
  t.match(first.attempt, { url: MADE.url, status_code: 500, duration_ms: 7, response_excerpt: "no" });
  t.ok(isAbout(outcomeOfAttempt(rowOf(7), posted()).delay_ms, 4 * HOUR));
  t.ok(isAbout(outcomeOfAttempt(rowOf(7, 7), posted()).delay_ms, 5 * SECOND));
  t.ok(
    isAbout(outcomeOfAttempt(rowOf(11), posted({ outcome: "failed", statusCode: null })).delay_ms, 24 * HOUR),
  );
});

t.test(
  "a delivery fails after its thirteenth attempt, unless its schedule was restarted meanwhile",
  async (t) => {
    for (const row of [rowOf(12), rowOf(19, 7)]) {
      const last = outcomeOfAttempt(row, posted({ retryAfter: "60" }));
      t.match(last, { state: "failed", delay_ms: null });
      t.equal(last.restart_delay_ms, 60 * SECOND);
    }
  },
);

t.test("Retry-After can only lengthen the scheduled delay, up to a day", async (t) => {
  t.equal(outcomeOfAttempt(rowOf(0), posted({ retryAfter: "3600" })).delay_ms, HOUR);
  t.equal(outcomeOfAttempt(rowOf(0), posted({ retryAfter: "9999999" })).delay_ms, DAY);
  t.ok(isAbout(outcomeOfAttempt(rowOf(6), posted({ retryAfter: "1" })).delay_ms, 2 * HOUR));
  t.ok(isAbout(outcomeOfAttempt(rowOf(0), posted({ retryAfter: "nonsense" })).delay_ms, 5 * SECOND));
});

t.test("aborted, postponed and skipped deliveries count no attempt", async (t) => {
  const nothing = { attempt: null, outcome: undefined, restart_delay_ms: null };
  const aborted = posted({ outcome: "failed", error: "aborted" });
  t.match(outcomeOfAttempt(rowOf(0), { ...aborted, isAborted: true }), {
    ...nothing,
    state: "pending",
    delay_ms: 0,
  });
  t.match(postponed(rowOf(2), 7_000), { ...nothing, state: "retrying", delay_ms: 7_000 });
  t.match(skipped("disabled"), { ...nothing, state: "skipped", skip_reason: "disabled", delay_ms: null });
});

t.test("a delivery that cannot be built fails after five attempts", async (t) => {
  const fault = new Error("cannot be decrypted");
  for (const [attempts, state] of [
    [0, "retrying"],
    [3, "retrying"],
    [4, "failed"],
  ] as const) {
    const result = internalFailure(rowOf(attempts), fault);
    t.match(result, { state, outcome: "internal", fault, attempt: { error: "internal", url: null } });
    t.equal(result.delay_ms === null, state === "failed");
  }
  t.equal(internalFailure(rowOf(9, 7), fault).state, "retrying");
});
