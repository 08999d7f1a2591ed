import t from "tap";
import { createWaitOut, nextDelay } from "../../../src/domain/ads/insights-export.ts";
import { PlatformFailure } from "../../../src/platforms/errors/failure.ts";
import { HOUR, SECOND } from "../../../src/runtime/durations.ts";

/** Fails with these errors, one per call, and then succeeds. */
function createRead(...errors: Error[]) {
  const state = { calls: 0 };
  const read = async () => {
    const error = errors[state.calls++];
    if (error) throw error;
    return "read";
  };
  return { state, read };
}

const tooManyCalls = (wait: number) => new PlatformFailure("throttled", "Too many calls", { wait });

t.test("the delay grows from 1 second to 15 seconds", async (t) => {
  const delays = [nextDelay()];
  while (delays.length < 10) delays.push(nextDelay(delays.at(-1)));
  t.equal(delays[0], SECOND);
  t.equal(delays[1], 1.5 * SECOND);
  t.equal(delays.at(-1), 15 * SECOND);
});

t.test("a read is repeated after an outage, until the waits of all reads reach the limit", async (t) => {
  const waitOut = createWaitOut(2 * SECOND);
  const outage = createRead(new PlatformFailure("unreachable", "The platform cannot be reached"));
  t.equal(await waitOut(outage.read), "read");
  t.equal(outage.state.calls, 2);
  const throttled = createRead(tooManyCalls(1.5 * SECOND));
  await t.rejects(waitOut(throttled.read), /Too many calls/);
  t.equal(throttled.state.calls, 1);
});

t.test("a wait of more than an hour is not begun", async (t) => {
  await t.rejects(createWaitOut()(createRead(tooManyCalls(HOUR + 1)).read), /Too many calls/);
});

t.test("a refusal is thrown at once", async (t) => {
  for (const error of [new PlatformFailure("invalid", "Invalid parameter"), new Error("a fault")]) {
    const refused = createRead(error);
    await t.rejects(createWaitOut()(refused.read), error);
    t.equal(refused.state.calls, 1);
  }
});
