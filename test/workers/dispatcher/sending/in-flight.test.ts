import t from "tap";
import type { ChannelQueues } from "../../../../src/queue/channel-queues.ts";
import { newId } from "../../../../src/runtime/ids.ts";
import { NO_TRACKER } from "../../../../src/runtime/watchdog/work-tracker.ts";
import type { Database } from "../../../../src/store/database/database.ts";
import type { ClaimedSend } from "../../../../src/store/messages/claim-sends.ts";
import { createConcurrencyLimiter } from "../../../../workers/dispatcher/concurrency-limiter.ts";
import { SEND_LANES } from "../../../../workers/dispatcher/lanes.ts";
import { createInFlightSends } from "../../../../workers/dispatcher/sending/in-flight.ts";
import type { MessageOutcome } from "../../../../workers/dispatcher/sending/outcomes.ts";
import { createPlatformAvailability } from "../../../../workers/dispatcher/sending/platform-availability.ts";
import { captureLog } from "../../../fixtures/captured-log.ts";
import { NOT_HELD } from "../../../fixtures/processes/queue-holds.ts";
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

/** Sends of a fake database and fake channel queues, of which one send is taken. */
function openSends() {
  const channel = { clientId: CLIENT_ID, channelId: newId("ch") };
  const ref = { ...channel, id: newId("msg") };
  const [drain, call, write] = [gate(), gate(), gate()];
  const counts = { waiting: 0, claims: 0, unmarks: 0, calls: 0, writes: 0 };
  let queued = [{ id: ref.id, wait: 0 }];
  const queues = {
    add: async () => [],
    async take() {
      const sends = queued;
      queued = [];
      return [{ channel, sends, left: 0, nextIn: 0 }];
    },
  } as unknown as ChannelQueues;
  const row = { client_id: CLIENT_ID, id: ref.id, channel_id: channel.channelId } as ClaimedSend;
  const { log } = captureLog();
  const limiter = createConcurrencyLimiter({ slots: 20, lanes: SEND_LANES });
  const sends = createInFlightSends({
    worker: "wrk_1",
    db: {
      async query({ text }: { text: string }) {
        const isClaim = text.includes("state = 'in_hand'");
        counts[isClaim ? "claims" : "unmarks"] += 1;
        return isClaim ? [row] : [];
      },
    } as unknown as Database,
    log,
    isAlive: () => true,
    limiter,
    queues,
    availability: createPlatformAvailability(log),
    hold: NOT_HELD,
    batchWriter: {
      waitForDrain() {
        counts.waiting += 1;
        return drain.opened;
      },
      finish() {
        counts.writes += 1;
        return write.opened;
      },
      abandon: () => {},
    },
    tracker: NO_TRACKER,
    async send() {
      counts.calls += 1;
      await call.opened;
      return { finish: {}, events: [] } as unknown as MessageOutcome;
    },
    record: () => {},
  });
  return { sends, ref, limiter, counts, drain, call, write };
}

t.test("a send frees its slot when its call ends, before its outcome is written", async (t) => {
  const { sends, ref, limiter, counts, drain, call, write } = openSends();
  drain.open();
  await sends.dispatch([ref]);
  await until("the call is open", () => counts.calls === 1);
  t.equal(limiter.used(), 1);
  call.open();
  await until("the outcome is being written", () => counts.writes === 1);
  t.equal(limiter.used(), 0);
  t.equal(sends.count(), 1, "the dispatcher waits for the outcome when it stops");
  write.open();
  await sends.drain();
  t.equal(sends.count(), 0);
});

t.test("no send is claimed while too many outcomes are unwritten", async (t) => {
  const { sends, ref, limiter, counts, drain, call, write } = openSends();
  await sends.dispatch([ref]);
  await until("the send waits", () => counts.waiting === 1);
  t.match(counts, { claims: 0, calls: 0 });
  t.equal(limiter.used(), 1);
  for (const { open } of [drain, call, write]) open();
  await sends.drain();
  t.match(counts, { claims: 1, calls: 1, writes: 1 });
});

t.test("a send that waits for unwritten outcomes is due again when the dispatcher stops", async (t) => {
  const { sends, ref, limiter, counts, drain } = openSends();
  await sends.dispatch([ref]);
  await until("the send waits", () => counts.waiting === 1);
  sends.stop();
  drain.open();
  await sends.drain();
  t.match(counts, { claims: 0, unmarks: 1, calls: 0 });
  t.equal(limiter.used(), 0);
});
