import type { ServerResponse } from "node:http";
import t, { type Test } from "tap";
import { MINUTE } from "../../../../src/runtime/durations.ts";
import type { Database } from "../../../../src/store/database/database.ts";
import { openSupervision } from "../../../fixtures/messages/batch-supervision.ts";
import {
  type BatchContext,
  phones,
  readBatchEvents,
  startBatchContext,
  sumOf,
  textBatch,
} from "../../../fixtures/messages/batches.ts";
import {
  answerAccepted,
  answerJson,
  answerRefused,
  queueMessages,
  receivedBodies,
} from "../../../fixtures/messages/sending-context.ts";
import { makeChannel } from "../../../fixtures/tenants/channels.ts";
import { until } from "../../../fixtures/until.ts";

const NO_COUNTS = {
  ...{ scheduled: 0, queued: 0, sending: 0, accepted: 0, sent: 0, delivered: 0, read: 0 },
  ...{ failed: 0, unknown: 0, cancelled: 0 },
};

const inFuture = (ms: number) => new Date(Date.now() + ms).toISOString();

/** Moves the start of a batch, and with it the times of its rows. */
const setSendAt = async ({ db }: { db: Database }, id: string, sendAt: Date): Promise<void> => {
  await db.query("update batches set send_at = $2 where id = $1", [id, sendAt]);
};

/** Answers no request before `release`, apart from the first ones, which `answerFirst` answers. */
function holdAnswers(
  { platform }: BatchContext,
  {
    first = 0,
    answerFirst,
  }: { first?: number; answerFirst?: (response: ServerResponse, index: number) => void } = {},
) {
  const { answer } = platform;
  const held: (() => void)[] = [];
  let count = 0;
  platform.answer = (response, ...rest) => {
    count += 1;
    if (count <= first) answerFirst?.(response, count - 1);
    else held.push(() => answer(response, ...rest));
  };
  return {
    count: () => count,
    release() {
      platform.answer = answer;
      for (const open of held.splice(0)) open();
    },
  };
}

/** How often each recipient got a message. */
function countByRecipient({ platform }: BatchContext): Map<string, number> {
  const counts = new Map<string, number>();
  for (const { to } of receivedBodies(platform)) counts.set(to, (counts.get(to) ?? 0) + 1);
  return counts;
}

t.test("batches", async (t) => {
  const context = await startBatchContext(t, {
    CHANNEL_RATE_PER_SECOND: "1000",
    DISPATCHER_CONCURRENCY: "40",
  });
  const { db, platform, batches, tenant } = context;
  const { supervise, untilSupervised } = openSupervision(context);
  const { answer } = platform;
  t.afterEach(() => {
    platform.answer = answer;
    platform.received.length = 0;
  });
  const newChannel = () => makeChannel(context, tenant);

  await t.test("each message is sent once with its own content, and the batch finishes", async (t) => {
    const channel = await newChannel();
    const people = phones(50);
    const messages = people.map((to, index) => (index < 25 ? { to, body: `Hi ${to}` } : { to }));
    const json = textBatch(channel, people, {
      messages,
      text: { body: "Hello", preview_url: true },
      name: "spring",
    });
    const id = await batches.start(json);
    const finished = await batches.untilBatch(id, { status: "finished" });
    t.match(finished, {
      name: "spring",
      channel_id: channel,
      type: "text",
      pause_reason: null,
      send_at: null,
    });
    t.ok(finished.finished_at);
    t.same(finished.counts, { ...NO_COUNTS, accepted: 50 });
    const bodies = new Map(receivedBodies(platform).map((body) => [body.to, body.text]));
    t.equal(platform.received.length, 50);
    for (const [index, to] of people.entries())
      t.same(bodies.get(to), { body: index < 25 ? `Hi ${to}` : "Hello", preview_url: true });
    t.same(
      (await readBatchEvents(context, id)).map(({ status, counts }) => [status, counts]),
      [["finished", finished.counts]],
    );
    t.same(
      (await batches.messages(id)).map(({ to, status }) => [to, status]),
      people.map((to) => [to, "accepted"]),
    );
  });

  await t.test("two messages to one person are sent in order", async (t) => {
    const messages = ["first", "second", "third"].map((body) => ({ to: "5511977770001", body }));
    const id = await batches.start(textBatch(await newChannel(), [], { messages }));
    await untilSupervised(id, { status: "finished" });
    t.same(
      receivedBodies(platform).map(({ text }) => text.body),
      ["first", "second", "third"],
    );
  });

  await t.test(
    "a message does not wait for one of a batch to the same person, nor the other way round",
    async (_t) => {
      const channelId = await newChannel();
      const open: ServerResponse[] = [];
      platform.answer = (response) => void open.push(response);
      const id = await batches.start(textBatch(channelId, ["5511977770002"]));
      await until("the message of the batch is being sent", () => open.length === 1);
      await queueMessages(context, { tenant, channelId }, { to: "5511977770002" });
      await until("the single message is being sent", () => open.length === 2);
      for (const [index, response] of open.entries()) answerAccepted(response, `wamid.${index}`);
      await untilSupervised(id, { status: "finished" });
    },
  );

  await t.test("a scheduled batch starts at its time", async (t) => {
    const id = await batches.start(
      textBatch(await newChannel(), phones(20), { send_at: inFuture(10 * MINUTE) }),
    );
    const scheduled = await batches.read(id);
    t.match(scheduled, { status: "scheduled", counts: { ...NO_COUNTS, scheduled: 20 } });
    t.equal(platform.received.length, 0);
    await setSendAt(context, id, new Date());
    const { counts } = await batches.untilBatch(id, { status: "finished" });
    t.equal(counts.accepted, 20);
    t.same(
      (await readBatchEvents(context, id)).map(({ status }) => status),
      ["running", "finished"],
    );
    const [message] = await batches.messages(id);
    const { body } = await context.api.call("GET", `/api/outbound/messages/${message?.message_id}`, context);
    t.same(
      body.statuses.map(({ status }: { status: string }) => status),
      ["scheduled", "queued", "sending", "accepted"],
    );
    t.equal(body.batch_id, id);
  });

  await t.test("a scheduled batch whose messages are all cancelled is finished", async (t) => {
    const id = await batches.start(
      textBatch(await newChannel(), phones(2), { send_at: inFuture(10 * MINUTE) }),
    );
    for (const { message_id } of await batches.messages(id))
      await context.api.call("DELETE", `/api/outbound/messages/${message_id}`, context);
    const { counts } = await untilSupervised(id, { status: "finished" });
    t.same(counts, { ...NO_COUNTS, cancelled: 2 });
  });

  await t.test("a paused batch sends nothing until it is resumed", async (t) => {
    const held = holdAnswers(context);
    const id = await batches.start(textBatch(await newChannel(), phones(100)));
    await until("messages are being sent", () => held.count() > 0);
    const paused = await batches.change(id, "pause");
    t.match(paused.body, { status: "paused", pause_reason: "requested" });
    held.release();
    await until("nothing is in flight", async () => (await countSends(db, id, "claimed")) === 0);
    const before = platform.received.length;
    t.ok(before < 100);
    // Further messages of another batch pass: the dispatcher has polled and claimed meanwhile.
    const other = await batches.start(textBatch(await newChannel(), phones(5)));
    await batches.untilBatch(other, { status: "finished" });
    t.equal(platform.received.length, before + 5);
    t.match((await batches.change(id, "resume")).body, { status: "running", pause_reason: null });
    const { counts } = await untilSupervised(id, { status: "finished" });
    t.equal(counts.accepted, 100);
    t.ok([...countByRecipient(context)].every(([to, count]) => count === (phones(5).includes(to) ? 2 : 1)));
    t.same(
      (await readBatchEvents(context, id)).map(({ status }) => status),
      ["paused", "running", "finished"],
    );
  });

  await t.test("a cancelled batch is cancelled apart from what is in flight", async (t) => {
    const held = holdAnswers(context);
    const id = await batches.start(textBatch(await newChannel(), phones(100)));
    await until("messages are being sent", () => held.count() > 0);
    const cancelled = await batches.change(id, "cancel");
    t.equal(cancelled.body.status, "cancelled");
    t.equal(sumOf(cancelled.body.counts), 100);
    held.release();
    const ended = await until("nothing is in flight", async () => {
      await supervise();
      const batch = await batches.read(id);
      return batch.finished_at ? batch : undefined;
    });
    const sent = platform.received.length;
    t.same(ended.counts, { ...NO_COUNTS, accepted: sent, cancelled: 100 - sent });
    t.ok([...countByRecipient(context).values()].every((count) => count === 1));
    const statuses = (await readBatchEvents(context, id)).map(({ status }) => status);
    t.same(statuses, ["cancelled", "cancelled"]);
    const events = await db.query(
      "select from events where type = 'message.status' and message_id in (select id from messages where batch_id = $1)",
      [id],
    );
    t.equal(events.length, 0, "there is no message.status for each message");
  });

  await t.test("a batch whose channel is not connected pauses, and continues when it is resumed", (t) =>
    testChannelPause(t, context),
  );
  await t.test("a batch whose template was paused or deleted pauses", (t) => testTemplatePause(t, context));
  await t.test("a batch whose messages fail with one code pauses", (t) => testFailurePause(t, context));

  await t.test("messages of a batch that has expired fail, but not while it is paused", async (t) => {
    const channel = await newChannel();
    const id = await batches.start(textBatch(channel, phones(3), { send_at: inFuture(10 * MINUTE) }));
    await batches.change(id, "pause");
    await db.query(
      "update batches set send_at = now(), paused_at = now(), expires_at = now() where id = $1",
      [id],
    );
    const other = await batches.start(textBatch(channel, phones(1)));
    await batches.untilBatch(other, { status: "finished" });
    t.equal((await batches.read(id)).counts.scheduled, 3);
    await db.query(
      "update batches set expires_at = now() - interval '1 day', paused_at = now() where id = $1",
      [id],
    );
    await batches.change(id, "resume");
    const { counts } = await untilSupervised(id, { status: "finished" });
    t.equal(counts.failed, 3);
    const [message] = await batches.messages(id);
    t.match(message, { status: "failed", error: { code: "expired" } });
  });
});

const countSends = async (db: Database, batchId: string, state: string): Promise<number> =>
  (await db.query("select from sends where batch_id = $1 and state = $2", [batchId, state])).length;

const setChannelStatus = async (db: Database, channel: string, status: string): Promise<void> => {
  await db.query("update channels set status = $2 where id = $1", [channel, status]);
};

async function testChannelPause(t: Test, context: BatchContext): Promise<void> {
  const { db, batches, tenant } = context;
  const { untilSupervised } = openSupervision(context);
  for (const status of ["needs_reauth", "disconnected"]) {
    const channel = await makeChannel(context, tenant);
    const id = await batches.start(textBatch(channel, phones(5), { send_at: inFuture(10 * MINUTE) }));
    await setChannelStatus(db, channel, status);
    await setSendAt(context, id, new Date());
    const paused = await untilSupervised(id, { status: "paused" });
    t.match(paused, { pause_reason: "channel", counts: { ...NO_COUNTS, queued: 5 } });
    await batches.change(id, "resume");
    await untilSupervised(id, { status: "paused", pause_reason: "channel" });
    await setChannelStatus(db, channel, "connected");
    await batches.change(id, "resume");
    t.same((await untilSupervised(id, { status: "finished" })).counts, { ...NO_COUNTS, accepted: 5 });
    t.same(
      (await readBatchEvents(context, id)).map((event) => [event.status, event.pause_reason]),
      [
        ["running", null],
        ["paused", "channel"],
        ["running", null],
        ["paused", "channel"],
        ["running", null],
        ["finished", null],
      ],
    );
  }
}

const templateBatch = (channel: string, count: number, overrides: object = {}) =>
  textBatch(channel, phones(count), {
    type: "template",
    text: undefined,
    template: { name: "spring_sale", language: { code: "pt_BR" } },
    send_at: inFuture(10 * MINUTE),
    ...overrides,
  });

async function testTemplatePause(t: Test, context: BatchContext): Promise<void> {
  const { db, batches, tenant, platform, api, headers } = context;
  const { untilSupervised } = openSupervision(context);
  const wabaOf = async (channel: string) => {
    const [row] = await db.query<{ waba_id: string }>("select waba_id from channels where id = $1", [
      channel,
    ]);
    return row?.waba_id;
  };

  await t.test("by the platform's report", async (t) => {
    const channel = await makeChannel(context, tenant);
    const id = await batches.start(templateBatch(channel, 5));
    const other = await batches.start(
      templateBatch(channel, 5, { template: { name: "spring_sale", language: { code: "en" } } }),
    );
    await db.query(
      `insert into templates (client_id, waba_id, hsm_id, name, language, platform_status, updated_at)
      values ($1, $2, '1', 'spring_sale', 'pt-BR', 'PAUSED', now() + interval '1 second')`,
      [tenant.id, await wabaOf(channel)],
    );
    await untilSupervised(id, { status: "paused", pause_reason: "template" });
    t.equal((await batches.read(other)).status, "scheduled", "the template in another language");
    await batches.change(other, "cancel");
    await batches.change(id, "cancel");
  });

  await t.test("by our deletion, in the language that is deleted", async (t) => {
    const channel = await makeChannel(context, tenant);
    const { answer } = platform;
    platform.answer = (response) => answerJson(response, 200, { success: true });
    t.teardown(() => {
      platform.answer = answer;
    });
    const inLanguage = (code: string) =>
      batches.start(templateBatch(channel, 2, { template: { name: "old_sale", language: { code } } }));
    const [portuguese, english, later] = [
      await inLanguage("pt_BR"),
      await inLanguage("en"),
      await inLanguage("es"),
    ];
    await db.query(
      `insert into templates (client_id, waba_id, hsm_id, name, language, platform_status)
      values ($1, $2, '77', 'old_sale', 'pt_BR', 'APPROVED')`,
      [tenant.id, await wabaOf(channel)],
    );
    const remove = (fields: object) =>
      api.call("DELETE", "/api/templates/delete", {
        headers,
        json: { channel_id: channel, template_name: "old_sale", ...fields },
      });
    t.match(await remove({ hsm_id: "77" }), { body: { success: true } });
    t.match(await batches.read(portuguese), { status: "paused", pause_reason: "template" });
    t.equal((await batches.read(english)).status, "scheduled");
    t.match(await remove({}), { body: { success: true } });
    for (const id of [english, later])
      t.match(await batches.read(id), { status: "paused", pause_reason: "template" });
    for (const id of [portuguese, english, later]) await batches.change(id, "cancel");
  });

  await t.test("by the platform's answer, and resumes", async (t) => {
    const channel = await makeChannel(context, tenant);
    for (const code of [132001, 132015, 132016]) {
      const held = holdAnswers(context, {
        first: 3,
        answerFirst: (response) => answerRefused(response, code),
      });
      const id = await batches.start(templateBatch(channel, 100, { send_at: undefined }));
      await untilSupervised(id, { status: "paused", pause_reason: "template" });
      // The batch may pause after the first failure, while the other two are being written.
      const { counts } = await until("three have failed", async () => {
        const batch = await batches.read(id);
        return batch.counts.failed === 3 ? batch : undefined;
      });
      t.ok(counts.queued > 0);
      held.release();
      await batches.change(id, "resume");
      const ended = await untilSupervised(id, { status: "finished" });
      t.same(ended.counts, { ...NO_COUNTS, accepted: 97, failed: 3 });
    }
  });
}

async function testFailurePause(t: Test, context: BatchContext): Promise<void> {
  const { batches, tenant } = context;
  const { supervise, untilSupervised } = openSupervision(context);
  const run = async (count: number, first: number, codeOf: (index: number) => number | undefined) => {
    const answerFirst = (response: ServerResponse, index: number) => {
      const code = codeOf(index);
      if (code === undefined) answerAccepted(response, `wamid.f${index}`);
      else answerRefused(response, code);
    };
    const held = holdAnswers(context, { first, answerFirst });
    const id = await batches.start(textBatch(await makeChannel(context, tenant), phones(count)));
    return { id, held };
  };
  const countAnswered = async (id: string) => {
    const { counts } = await batches.read(id);
    return counts.failed + counts.accepted;
  };

  const { id, held } = await run(200, 60, (index) => (index % 3 === 0 ? undefined : 131026));
  const paused = await batches.untilBatch(id, { status: "paused" });
  t.equal(paused.pause_reason, "failures");
  t.ok(paused.counts.failed + paused.counts.accepted >= 20);
  t.equal(sumOf(paused.counts), 200);
  held.release();
  await batches.change(id, "resume");
  const finished = await untilSupervised(id, { status: "finished" });
  t.equal(finished.counts.failed + finished.counts.accepted, 200);

  const harmless: [string, answered: number, (index: number) => number | undefined][] = [
    ["a third of them fail", 60, (index) => (index % 3 === 0 ? 131026 : undefined)],
    ["they fail with several codes", 60, (index) => [131026, 131051, 131053][index % 3]],
    ["fewer than 20 fail", 19, () => 131026],
  ];
  for (const [name, answered, codeOf] of harmless) {
    // The last one is held meanwhile: a batch of which nothing is left to send ends, and is not judged.
    const { id, held } = await run(answered + 1, answered, codeOf);
    await until("the first ones have an outcome", async () => (await countAnswered(id)) === answered);
    await supervise();
    held.release();
    await untilSupervised(id, { status: "finished" });
    t.same(
      (await readBatchEvents(context, id)).map(({ status }) => status),
      ["finished"],
      name,
    );
  }
}
