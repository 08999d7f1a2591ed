import t from "tap";
import type { Rates } from "../../../../src/queue/rates.ts";
import { MINUTE } from "../../../../src/runtime/durations.ts";
import { newId } from "../../../../src/runtime/ids.ts";
import { NO_TRACKER } from "../../../../src/runtime/watchdog.ts";
import type { Database } from "../../../../src/store/database/database.ts";
import type { ClaimedSend, SendKey } from "../../../../src/store/messages/claim-sends.ts";
import { createConcurrencyLimiter, SEND_LANES } from "../../../../workers/dispatcher/concurrency-limiter.ts";
import type { MessageOutcome } from "../../../../workers/dispatcher/sending/outcomes.ts";
import { createPlatformAvailability } from "../../../../workers/dispatcher/sending/platform-availability.ts";
import { createSends, type SendControl } from "../../../../workers/dispatcher/sending/sends.ts";
import { captureLog } from "../../../fixtures/captured-log.ts";
import { until } from "../../../fixtures/until.ts";

const CLIENT_ID = "3f2504e0-4f89-11d3-9a0c-0305e82c3301";

/** A promise that the test resolves. */
function gate() {
  let open = () => {};
  const opened = new Promise<void>((resolve) => {
    open = resolve;
  });
  return { opened, open };
}

/** Sends with fake claims and rates, whose calls and writes the test ends. `send` is the call. */
function openSends(claimed: (key: SendKey) => readonly Partial<ClaimedSend>[] = () => []) {
  const key: SendKey = { clientId: CLIENT_ID, channelId: newId("ch"), batchId: "", isSuspect: false };
  const row = {
    ...{ client_id: CLIENT_ID, id: newId("msg"), channel_id: key.channelId, batch_id: "" },
    ...{ is_suspect: false, platform: "chatapp" },
  } as ClaimedSend;
  const [call, write] = [gate(), gate()];
  const calls: SendControl[] = [];
  const given: number[] = [];
  const taken: number[] = [];
  let writes = 0;
  const { log } = captureLog();
  const limiter = createConcurrencyLimiter({ slots: 20, lanes: SEND_LANES });
  const rates: Rates & { granted: number } = {
    granted: 0,
    async take(wishes) {
      taken.push(...wishes.map(({ count }) => count));
      return wishes.map(() => rates.granted);
    },
    give: (_, count) => void given.push(count),
    pause: () => {},
    sleepOf: () => 0,
  };
  const sends = createSends({
    worker: "wrk_1",
    db: { query: async () => claimed(key) } as unknown as Database,
    log,
    limiter,
    rates,
    availability: createPlatformAvailability(log),
    onSlotFree: () => {},
    batchWriter: {
      waitForDrain: async () => {},
      finish() {
        writes += 1;
        return write.opened;
      },
      abandon: () => {},
    },
    tracker: NO_TRACKER,
    async send(_row, _claim, control) {
      calls.push(control);
      await call.opened;
      return { finish: { attempt: null }, events: [] } as unknown as MessageOutcome;
    },
    record: () => {},
  });
  const start = (ageMs = 0) => {
    t.equal(sends.queue.acquire(key, 1), 1);
    sends.queue.start([row], { lease: "lease", claimedAt: performance.now() - ageMs });
  };
  const writeCount = () => writes;
  return { sends, key, row, limiter, rates, calls, given, taken, call, write, start, writeCount };
}

t.test("a send frees its slot when its call ends, before its outcome is written", async (t) => {
  const { sends, limiter, calls, call, write, start, writeCount } = openSends();
  start();
  await until("the call is open", () => calls.length === 1);
  t.equal(limiter.used(), 1);
  call.open();
  await until("the outcome is being written", () => writeCount() === 1);
  t.equal(limiter.used(), 0);
  t.equal(sends.count(), 1, "the dispatcher waits for the outcome when it stops");
  write.open();
  await sends.drain();
  t.equal(sends.count(), 0);
});

t.test("a send that starts late exchanges its token, and does not start without one", async (t) => {
  const { calls, given, taken, call, write, start } = openSends();
  start(-MINUTE); // so that it is never late
  start(1_000);
  const [punctual, late] = calls as [SendControl, SendControl];
  t.equal(await punctual.hasToken("mark"), true);
  t.same([given, taken], [[], []]);
  t.equal(await late.hasToken("mark"), false);
  t.same([given, taken], [[1], [1]]);
  for (const { open } of [call, write]) open();
});

t.test("a claim returns the tokens of sends that it did not find, or all when it fails", async (t) => {
  const requestOf = (key: SendKey) => [{ key, max: 5, after: null }];
  const found = openSends(({ channelId }) => [
    { client_id: CLIENT_ID, channel_id: channelId, batch_id: "", is_suspect: false },
    { client_id: CLIENT_ID, channel_id: channelId, batch_id: "", is_suspect: false },
  ]);
  t.equal((await found.sends.queue.claim(requestOf(found.key), "lease")).length, 2);
  t.same(found.given, [3]);
  const failing = openSends(() => {
    throw new Error("no connection");
  });
  await t.rejects(failing.sends.queue.claim(requestOf(failing.key), "lease"), /no connection/);
  t.same(failing.given, [5]);
});

t.test("one suspect at a time has a slot, of whatever channel", async (t) => {
  const { sends, key } = openSends();
  const [one, other] = [1, 2].map(() => ({ ...key, channelId: newId("ch"), isSuspect: true })) as [
    SendKey,
    SendKey,
  ];
  t.equal(sends.queue.acquire(one, 5), 1);
  t.equal(sends.queue.acquire(other, 5), 0);
  t.equal(sends.queue.acquire(key, 5), 5, "others are not affected");
  sends.queue.release(one, 1);
  t.equal(sends.queue.acquire(other, 5), 1);
});
