import t from "tap";
import { createPlatformAvailability } from "../../../../workers/dispatcher/sending/platform-availability.ts";
import { captureLog } from "../../../fixtures/captured-log.ts";

const [ONE, OTHER] = [
  { platform: "chatapp", channel_id: "ch_1" },
  { platform: "chatapp", channel_id: "ch_2" },
];
const ELSEWHERE = { platform: "photoapp", channel_id: "ch_3" };

function open() {
  const { log, events } = captureLog();
  let time = 0;
  const availability = createPlatformAvailability(log, () => time);
  const fail = (channel = ONE, times = 1) => {
    for (let count = 0; count < times; count += 1) availability.record(channel, false);
  };
  const canStart = ({ channel_id }: typeof ONE) => availability.acquire(channel_id, 1) > 0;
  const pass = (milliseconds: number) => {
    time += milliseconds;
  };
  return { availability, events, fail, canStart, pass };
}

t.test("after five sends without a connection the platform's sends wait", async (t) => {
  const { availability, events, fail, canStart } = open();
  fail(ONE, 4);
  t.ok(canStart(ONE));
  fail(OTHER);
  t.notOk(canStart(ONE), "on every channel that failed");
  t.notOk(canStart(OTHER));
  t.ok(canStart(ELSEWHERE), "not on other platforms");
  t.same(
    [ONE, OTHER, ELSEWHERE].map(({ channel_id }) => availability.sleepOf(channel_id)),
    [1_000, 1_000, 0],
  );
  t.same(events(), ["platform.unreachable"]);
});

t.test("a channel whose sends were answered before waits too", async (t) => {
  const { availability, fail, canStart } = open();
  availability.record(OTHER, true);
  fail(ONE, 5);
  t.notOk(canStart(OTHER));
  t.ok(canStart(ELSEWHERE));
});

t.test("an answer between failures starts the count again", async (t) => {
  const { availability, fail, canStart } = open();
  fail(ONE, 4);
  availability.record(OTHER, true);
  fail(ONE, 4);
  t.ok(canStart(ONE));
});

t.test(
  "after the pause one send at a time tries the platform, and each failure doubles the pause",
  async (t) => {
    const { availability, events, fail, canStart, pass } = open();
    fail(ONE, 4);
    fail(OTHER, 3);
    for (const pause of [1_000, 2_000, 4_000, 8_000, 16_000, 30_000, 30_000]) {
      pass(pause - 1);
      t.notOk(canStart(ONE), `not before ${pause} ms`);
      pass(1);
      t.equal(availability.sleepOf(ONE.channel_id), 0);
      t.ok(canStart(ONE));
      t.notOk(canStart(OTHER), "one tries already");
      fail(ONE);
      availability.release(ONE.channel_id);
    }
    t.same(events(), ["platform.unreachable"], "one line for the outage");
  },
);

t.test("a send that ends without a result lets another one try", async (t) => {
  const { availability, fail, canStart, pass } = open();
  fail(ONE, 5);
  fail(OTHER);
  pass(1_000);
  t.ok(canStart(ONE));
  availability.release(ONE.channel_id);
  t.ok(canStart(OTHER));
});

t.test("an answer ends the pause for all channels", async (t) => {
  const { availability, events, fail, canStart, pass } = open();
  fail(ONE, 5);
  fail(OTHER);
  pass(1_000);
  t.ok(canStart(ONE));
  availability.record(ONE, true);
  t.ok(canStart(OTHER));
  t.ok(canStart(ONE));
  t.same(events(), ["platform.unreachable", "platform.recovered"]);
});
