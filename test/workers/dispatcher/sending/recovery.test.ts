import { randomUUID } from "node:crypto";
import t from "tap";
import { HOUR, MINUTE } from "../../../../src/runtime/durations.ts";
import { createDatabase } from "../../../../src/store/database/database.ts";
import { insertDeadWorker } from "../../../fixtures/events/queue-rows.ts";
import { createTestRecovery } from "../../../fixtures/messages/send-recovery.ts";
import {
  answerAccepted,
  answerRefused,
  makeSendDue,
  queueMessage,
  queueMessages,
  readMessage,
  readMessageEvents,
  receivedBodies,
  startSendingContext,
  untilMessage,
} from "../../../fixtures/messages/sending-context.ts";
import { startDispatcher } from "../../../fixtures/processes/dispatcher.ts";
import { until } from "../../../fixtures/until.ts";

/** Columns of a send that a dead dispatcher claimed. */
const expiredLease = () => ({
  state: "claimed",
  worker_id: "wrk_dead",
  lease: randomUUID(),
  claimed_at: new Date(Date.now() - MINUTE),
});

t.test("recovery of sends", async (t) => {
  const context = await startSendingContext(t);
  const { platform } = context;
  await insertDeadWorker(context, "wrk_dead");
  // The dispatcher takes others for dead only after ten seconds.
  const { recover } = createTestRecovery(context);
  const callsTo = (to: string) => receivedBodies(platform).filter((body) => body.to === to).length;

  t.test("a dead dispatcher's send without a started request is sent once by another", async (t) => {
    const to = "5511900000001";
    const id = await queueMessage(context, { to, sendColumns: expiredLease() });
    await recover();
    const row = await untilMessage(context, id, { status: "accepted" });
    t.same([row.attempts, callsTo(to)], [1, 1]);
  });

  t.test("sends whose dispatchers died twice are each sent once", async (t) => {
    const recipients = ["5511900000011", "5511900000012"];
    const messages = recipients.map((to) => ({ to, sendColumns: { ...expiredLease(), deaths: 1 } }));
    const ids = await queueMessages(context, context, ...messages);
    await recover();
    for (const id of ids) await untilMessage(context, id, { status: "accepted" });
    t.same(recipients.map(callsTo), [1, 1]);
  });

  t.test(
    "a dead dispatcher's send with a started request becomes unknown and is not sent again",
    async (t) => {
      const to = "5511900000002";
      const sending = { sending_at: new Date(), started_at: new Date() };
      const id = await queueMessage(context, { to, sendColumns: { ...expiredLease(), ...sending } });
      await recover();
      const row = await untilMessage(context, id, { status: "unknown", state: "unknown" });
      t.same([row.attempts, callsTo(to)], [1, 0]);
      t.match(await readMessageEvents(context, id), [{ type: "message.send_result", outcome: "unknown" }]);
    },
  );

  t.test("a send with a status webhook does not become unknown", async (t) => {
    const sending = { sending_at: new Date(), started_at: new Date() };
    const id = await queueMessage(context, {
      to: "5511900000003",
      // Claimed in the future, so that the recovery does not find the lease expired before the status is stored.
      sendColumns: { ...expiredLease(), ...sending, claimed_at: new Date(Date.now() + HOUR) },
    });
    await context.db.query(
      'update messages set status = \'delivered\', timeline = \'[{"status": "delivered", "at": "2026-11-01T09:30:00Z"}]\' where id = $1',
      [id],
    );
    await context.db.query("update sends set claimed_at = now() - interval '1 minute' where id = $1", [id]);
    await recover();
    const [event] = await until("the event is recorded", async () => {
      const events = await readMessageEvents(context, id);
      return events.length > 0 ? events : undefined;
    });
    t.match(event, { type: "message.send_result", outcome: "accepted" });
    const row = await readMessage(context, id);
    t.equal(row.status, "delivered");
    t.same(
      row.timeline.map(({ status }) => status),
      ["sending", "delivered"],
    );
  });

  t.test(
    "an unknown send is retried when its slow dispatcher still receives a retryable refusal",
    async (t) => {
      const to = "5511900000005";
      platform.pauseAnswers();
      // After four attempts the next delay is ten minutes, so that the send waits until the test makes it due.
      const id = await queueMessage(context, { to, sendColumns: { attempts: 4 } });
      await until("the request is open", () => platform.openRequests() === 1);
      // Set the state that another dispatcher sets when it takes this one for dead.
      await context.db.query(
        "update sends set state = 'unknown', attempts = 5, claimed_at = null where id = $1",
        [id],
      );
      await context.db.query("update messages set status = 'unknown' where id = $1", [id]);
      platform.release(1, (response) => answerRefused(response, 130429));
      const waiting = await untilMessage(context, id, { state: "waiting" });
      t.equal(waiting.send_attempts, 5, "counted once");
      platform.answer = (response) => answerAccepted(response, "wamid.later");
      await makeSendDue(context, id);
      await untilMessage(context, id, { status: "accepted", state: null, attempts: 6 });
      t.equal(callsTo(to), 2);
    },
  );

  t.test("queued sends go out after Redis comes back empty", async (t) => {
    platform.pauseAnswers();
    const [first = "", second = ""] = await queueMessages(
      context,
      context,
      { to: "5511900000004" },
      { to: "5511900000004" },
    );
    await until("the first request is open", () => platform.openRequests() === 1);
    await context.redis.flushdb();
    platform.answer = (response) => answerAccepted(response, "wamid.after");
    platform.release(1, 503);
    await untilMessage(context, second, { status: "accepted" });
    t.equal((await readMessage(context, first)).status, "unknown");
  });

  t.test(
    "a stopping dispatcher awaits its open requests, and another sends the waiting messages",
    async (t) => {
      platform.pauseAnswers();
      const many = Array.from({ length: 60 }, (_, index) => ({ to: `55119100000${index + 100}` }));
      const before = platform.received.length;
      const ids = await queueMessages(context, context, ...many);
      // Few, so that the deadline of the first one is far when the last one opens.
      await until("some requests are open", () => platform.openRequests() >= 10);
      const stopped = context.stop();
      platform.answer = (response) => answerAccepted(response, "wamid.last");
      platform.release(undefined, (response) => answerAccepted(response, "wamid.last"));
      await stopped;
      const db = createDatabase(context.config, () => {});
      t.teardown(() => db.close());
      const rows = await Promise.all(ids.map((id) => readMessage({ db }, id)));
      const sent = rows.filter(({ status }) => status === "accepted").length;
      t.equal(platform.received.length - before, sent, "the outcome of each request is recorded");
      t.equal(rows.filter(({ state }) => state === "waiting").length, ids.length - sent);
      const next = await startDispatcher(t, { config: context.config });
      for (const id of ids) await untilMessage(next, id, { status: "accepted" });
      t.ok(
        many.every(({ to }) => callsTo(to) === 1),
        "each is sent once",
      );
    },
  );
});
