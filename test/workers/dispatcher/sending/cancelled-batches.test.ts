import t, { type Test } from "tap";
import { createMessageNotifier } from "../../../../src/queue/wake-ups.ts";
import { MINUTE } from "../../../../src/runtime/durations.ts";
import {
  type BatchContext,
  phones,
  readBatchEvents,
  startBatchContext,
  textBatch,
} from "../../../fixtures/messages/batches.ts";
import { holdMarks, lockMarks } from "../../../fixtures/messages/held-marks.ts";
import {
  answerAccepted,
  answerRefused,
  queueMessage,
  receivedBodies,
  untilMessage,
} from "../../../fixtures/messages/sending-context.ts";
import { untilBlocked } from "../../../fixtures/servers/lock-waits.ts";
import { connectRawClient } from "../../../fixtures/servers/servers.ts";
import { makeChannel } from "../../../fixtures/tenants/channels.ts";
import { until } from "../../../fixtures/until.ts";

const PICTURE = { link: "https://example.com/a.png", caption: "Look" };

/** The counts that are not 0. */
const countsOf = ({ counts }: { counts: Record<string, number> }) =>
  Object.fromEntries(Object.entries(counts).filter(([, count]) => count > 0));

/** Waits until nothing of the batch is still to be sent, and reads it. Meanwhile its retries are due at once. */
async function untilEnded({ db, redis, tenant, batches }: BatchContext, id: string) {
  const notifier = createMessageNotifier(redis, [18]);
  const { channel_id: channelId } = await batches.read(id);
  return until(`${id} has ended`, async () => {
    await db.query("update sends set next_attempt_at = now() where batch_id = $1 and state = 'waiting'", [
      id,
    ]);
    notifier.notify([{ clientId: tenant.id, channelId, batchId: id }]);
    const batch = await batches.read(id);
    return batch.finished_at ? batch : undefined;
  });
}

/** A batch whose messages a dead dispatcher had claimed. */
async function startLostBatch({ db, batches }: BatchContext, json: object): Promise<string> {
  const send_at = new Date(Date.now() + 10 * MINUTE).toISOString();
  const id = await batches.start({ ...json, send_at });
  // In the future, so that the recovery does not find them.
  await db.query(
    `update sends
    set
      state = 'claimed', worker_id = 'wrk_dead', lease = gen_random_uuid(), claimed_at = now() + interval '1 hour',
      next_attempt_at = now()
    where batch_id = $1`,
    [id],
  );
  await db.query("update messages set status = 'queued' where batch_id = $1", [id]);
  await db.query("update batches set status = 'running' where id = $1", [id]);
  return id;
}

t.test("a batch is cancelled", async (t) => {
  const context = await startBatchContext(t, { CHANNEL_RATE_PER_SECOND: "1000" });
  const { config, db, platform, batches, tenant } = context;
  const { answer } = platform;
  await holdMarks(db);
  const marks = await connectRawClient(t, config.DATABASE_URL);
  t.afterEach(() => {
    platform.answer = answer;
    platform.received.length = 0;
  });
  const newChannel = () => makeChannel(context, tenant);
  /** Cancels a batch of three messages of which none is in flight. */
  async function checkEnd(t: Test, id: string): Promise<void> {
    const { body } = await batches.change(id, "cancel");
    t.same(countsOf(body), { cancelled: 3 });
    t.ok(body.finished_at);
    t.same(
      (await readBatchEvents(context, id)).map(({ status, counts }) => [status, counts.cancelled]),
      [["cancelled", 3]],
    );
  }

  await t.test("a message that is claimed and not marked is cancelled and never sent", async (t) => {
    const blocking = "5511977770001";
    await lockMarks(marks, [blocking]);
    const first = await queueMessage(context, { to: blocking });
    await untilBlocked(marks, 1);
    const id = await batches.start(textBatch(await newChannel(), phones(3)));
    await until("its messages are claimed, and their marks wait for the one before", async () => {
      const rows = await db.query("select from sends where batch_id = $1 and state = 'claimed'", [id]);
      return rows.length === 3;
    });
    await checkEnd(t, id);
    await marks.query("select pg_advisory_unlock_all()");
    await untilMessage(context, first, { status: "accepted" });
    await untilMessage(context, await queueMessage(context, { to: "5511977770002" }), { status: "accepted" });
    t.same(
      receivedBodies(platform).map(({ to }) => to),
      [blocking, "5511977770002"],
    );
    const [message] = await batches.messages(id);
    const { body } = await context.api.call("GET", `/api/outbound/messages/${message?.message_id}`, context);
    t.match(body, { status: "cancelled", attempts: 0 });
    t.same(
      body.statuses.map(({ status }: { status: string }) => status),
      ["queued", "cancelled"],
    );
  });

  await t.test("a message that the platform throttles is cancelled instead of sent again", async (t) => {
    platform.pauseAnswers();
    const id = await batches.start(textBatch(await newChannel(), phones(1)));
    await until("the request is open", () => platform.openRequests() === 1);
    await batches.change(id, "cancel");
    // The retry would be due at once.
    await db.query(
      `create function retry_now() returns trigger language plpgsql as $$
      begin
        new.next_attempt_at := now();
        return new;
      end $$;
      create trigger retry_now before update on sends for each row when (new.state = 'waiting') execute function retry_now()`,
    );
    platform.answer = answer;
    platform.release(1, (response) => answerRefused(response, 131056));
    t.same(countsOf(await untilEnded(context, id)), { cancelled: 1 });
    await db.query("drop trigger retry_now on sends");
    t.equal(platform.received.length, 1);
  });

  await t.test("a message of which one part was sent is sent to the end", async (t) => {
    const channel = await makeChannel(context, tenant, { platform: "socialapp" });
    platform.pauseAnswers();
    const id = await batches.start(
      textBatch(channel, [], {
        ...{ type: "image", text: undefined, image: PICTURE, messages: [{ to: "1001" }] },
      }),
    );
    await until("the request for the picture is open", () => platform.openRequests() === 1);
    await batches.change(id, "cancel");
    platform.release(1, (response) => answerAccepted(response, "m_picture"));
    await until("the request for the caption is open", () => platform.received.length === 2);
    platform.answer = answer;
    platform.release(1, (response) => answerRefused(response, 1200));
    t.same(countsOf(await untilEnded(context, id)), { sent: 1 });
    t.same(
      receivedBodies(platform).map(({ message }) => Object.keys(message)[0]),
      ["attachment", "text", "text"],
    );
  });

  await t.test(
    "a message of unknown outcome that was not sent is cancelled after the end of the batch",
    async (t) => {
      platform.pauseAnswers();
      const id = await batches.start(textBatch(await newChannel(), phones(1)));
      await until("the request is open", () => platform.openRequests() === 1);
      // As another dispatcher does it when it takes this one for dead.
      await db.query(
        "update sends set state = 'unknown', claimed_at = null, next_attempt_at = now() + interval '1 hour' where batch_id = $1",
        [id],
      );
      await db.query("update messages set status = 'unknown' where batch_id = $1", [id]);
      await batches.change(id, "cancel");
      t.same(countsOf(await untilEnded(context, id)), { unknown: 1 });
      platform.answer = answer;
      platform.release(1, (response) => answerRefused(response, 131056));
      await until("it is cancelled", async () => countsOf(await batches.read(id)).cancelled === 1);
      t.same(countsOf(await untilEnded(context, id)), { cancelled: 1 });
      t.equal(platform.received.length, 1);
    },
  );

  await t.test("a message that a dead dispatcher had claimed is cancelled and never sent", async (t) => {
    const id = await startLostBatch(context, textBatch(await newChannel(), phones(3)));
    await checkEnd(t, id);
    await untilMessage(context, await queueMessage(context), { status: "accepted" });
    t.equal(platform.received.length, 1);
  });
});
