import type { ServerResponse } from "node:http";
import t, { type Test } from "tap";
import { startRedis } from "../../src/local/redis.ts";
import { SECOND } from "../../src/runtime/durations.ts";
import { findMessage, listMessages } from "../../src/store/messages/messages.ts";
import { holdQueue, releaseQueue } from "../../src/store/processes/queue-hold.ts";
import { times } from "../fixtures/events/deliveries.ts";
import { withoutRetries } from "../fixtures/events/queue-rows.ts";
import { insertSendBacklog } from "../fixtures/messages/backlog.ts";
import { acceptMessage } from "../fixtures/messages/send-queue.ts";
import { findRateExcess, openConnections, readRequestTimes } from "../fixtures/messages/send-rate.ts";
import {
  answerAccepted,
  answerRefused,
  queueMessage,
  queueMessages,
  readMessage,
  receivedMessages,
  type SendingContext,
  startSendingContext,
  untilMessage,
} from "../fixtures/messages/sending-context.ts";
import { startDispatcher } from "../fixtures/processes/dispatcher.ts";
import { makeTempFolder } from "../fixtures/servers/folders.ts";
import { redisProgram } from "../fixtures/servers/programs.ts";
import { connectRawClient } from "../fixtures/servers/servers.ts";
import { makeChannel, newPlatformId } from "../fixtures/tenants/channels.ts";
import { until } from "../fixtures/until.ts";

/** Only rows wait: what Redis holds may be lost at any time. */

const receivedIds = ({ platform }: Pick<SendingContext, "platform">): string[] =>
  receivedMessages(platform).map(({ id }) => id);

const untilReceived = (context: SendingContext, ids: readonly string[]) =>
  until(`${ids.length} messages arrive`, () => {
    const received = new Set(receivedIds(context));
    return ids.every((id) => received.has(id));
  });

let lastPerson = 5511900000000;
const newPerson = () => String(++lastPerson);

/** Low, so that a few milliseconds more or less on the way to the platform are less than a message. */
const RATE = 20;

async function testOutage(t: Test): Promise<void> {
  const folder = makeTempFolder(t);
  const start = (port?: number) =>
    startRedis({ program: redisProgram(), folder, durable: false, ...(port ? { port } : {}) });
  let redis = await start();
  t.teardown(() => redis.stop());
  const settings = { REDIS_URL: redis.url, CHANNEL_RATE_PER_SECOND: String(RATE) };
  const context = await startSendingContext(t, { settings });
  const { db, platform } = context;
  const secondStartedAt = await startDispatcher(t, { config: context.config }).then(() => new Date());
  await openConnections(context, RATE);
  const [other, ids] = [await makeChannel(context, context.tenant), [] as string[]];
  const backlog = await insertSendBacklog(db, { ...context, count: 50 * RATE });
  const expected = new Set(backlog);
  const arrivals = () => receivedMessages(platform).filter(({ id }) => expected.has(id));
  const untilArrived = (count: number) =>
    until(`${count} of the backlog arrive`, () => arrivals().length >= count);
  await untilArrived(RATE);
  await until("both dispatchers know of each other", async () => {
    const beats = await db.query("select 1 from workers where heartbeat_at > $1", [secondStartedAt]);
    return beats.length === 2;
  });

  process.kill(redis.pid, "SIGKILL");
  await redis.stop();
  const stoppedAt = arrivals().length;
  await untilArrived(stoppedAt + RATE); // the change costs up to a second of the rate
  const [began, before] = [Date.now(), arrivals().length];
  for (let round = 0; round < 5; round += 1) {
    const messages = times(5, () => ({ to: newPerson() }));
    ids.push(...(await queueMessages(context, { ...context, channelId: other }, ...messages)));
    await untilReceived(context, ids);
  }
  await untilArrived(before + 2 * RATE);
  const perSecond = ((arrivals().length - before) * SECOND) / (Date.now() - began);
  redis = await start(Number(new URL(redis.url).port));
  await untilArrived(arrivals().length + 2 * RATE);
  const removed = await db.query<{ id: string }>("delete from sends where state = 'waiting' returning id");
  for (const { id } of removed) expected.delete(id);
  t.ok(removed.length > 0, "the backlog has lasted until here");
  await untilReceived(context, [...expected]);

  t.ok(perSecond >= RATE / 2, `${perSecond.toFixed(1)} messages per second without Redis`);
  const excess = findRateExcess(await readRequestTimes(context, [...expected]), RATE);
  // A bucket that starts full, or a rate that is not divided, exceeds the rate by a second of it or more.
  t.ok(excess <= RATE / 2, `${excess.toFixed(1)} messages more than the rate allows`);
  const received = receivedIds(context).filter((id) => expected.has(id) || ids.includes(id));
  t.same(received.sort(), [...expected, ...ids].sort(), "each message arrives once");
}

async function testRows(t: Test): Promise<void> {
  const context = await startSendingContext(t, { settings: { DISPATCHER_CONCURRENCY: "40" } });
  const { db, platform, tenant } = context;
  const queueTo = async (channelId: string, ...messages: Parameters<typeof queueMessages>[2][]) =>
    queueMessages(context, { tenant, channelId }, ...messages);
  const receivedOf = (ids: readonly string[]) => receivedIds(context).filter((id) => ids.includes(id));

  t.test("messages whose wake-ups are lost are found by the poll", async (t) => {
    // A dispatcher may read a wake-up before it is deleted: these have none, and no other on their channel.
    const channelId = await makeChannel(context, tenant);
    const ids = await insertSendBacklog(db, { tenant, channelId, count: 5 });
    for (let round = 0; round < 30; round += 1) {
      ids.push(await queueMessage(context, { to: newPerson() }));
      await context.redis.del("{18}:outbound");
    }
    await untilReceived(context, ids);
    t.same(receivedOf(ids).sort(), ids.sort(), "each message arrives once");
  });

  t.test("a message that is committed late is sent after later ones", async (t) => {
    const raw = await connectRawClient(t, context.config.DATABASE_URL);
    await raw.query("begin");
    const { id: late } = await acceptMessage(
      { clientId: tenant.id, channelId: context.channelId },
      withoutRetries(raw),
      { to: newPerson() },
    );
    const ids = await queueMessages(context, context, ...times(5, () => ({ to: newPerson() })));
    await untilReceived(context, ids);
    t.same(receivedOf([late]), []);
    await raw.query("commit");
    await untilReceived(context, [late]);
    for (const id of [...ids, late]) await untilMessage(context, id, { status: "accepted" });
    t.equal(receivedOf([...ids, late]).length, 6);
  });

  t.test("a backlog and a channel whose requests hang delay no other channel", async (t) => {
    const { answer } = platform;
    const [busy, hanging] = [await makeChannel(context, tenant), await makeChannel(context, tenant)];
    const held: ServerResponse[] = [];
    platform.answer = (response, { raw }) => {
      const { to, biz_opaque_callback_data: id } = JSON.parse(raw);
      if (to.startsWith("5541")) held.push(response);
      else answerAccepted(response, `wamid.${id}`);
    };
    await queueTo(hanging, ...times(60, (index) => ({ to: `5541900000${index + 100}` })));
    await until("requests hang", () => held.length > 0);
    const backlog = await insertSendBacklog(db, { tenant, channelId: busy, count: 10_000 });
    await until("the backlog is being sent", () => receivedOf(backlog).length > 20);
    const others = await Promise.all(times(10, () => makeChannel(context, tenant)));
    for (let round = 0; round < 5; round += 1)
      await Promise.all(
        others.map(async (channelId) =>
          untilReceived(context, await queueTo(channelId, { to: newPerson() })),
        ),
      );
    const [{ waiting } = { waiting: 0 }] = await db.query<{ waiting: number }>(
      "select count(*)::integer as waiting from sends where channel_id = $1 and state = 'waiting'",
      [busy],
    );
    t.ok(waiting > backlog.length / 2, `${waiting} of the backlog still wait`);
    await db.query("delete from sends where state = 'waiting'");
    for (const response of held) answerAccepted(response, "wamid.late");
    platform.answer = answer;
  });

  t.test("while the queue is held no row is written", async (t) => {
    await until("nothing is in flight", async () => (await db.query("select 1 from sends")).length === 0);
    const channelId = await makeChannel(context, tenant);
    await holdQueue(db, { by: "an operator" });
    const backlog = await insertSendBacklog(db, { tenant, channelId, count: 200 });
    const readRows = () =>
      db.query<{ written: string }>(
        `select md5(string_agg(xmin::text || ctid::text, ',' order by id)) as written, count(*)::integer
        from sends
        where id = any($1)`,
        [backlog],
      );
    const before = await readRows();
    // Its wake-up may come before the dispatcher notices the hold.
    const [held = ""] = await queueTo(channelId, { to: newPerson() });
    await until("it notices the hold", () => context.lines.some(({ event }) => event === "queue.held"));
    for (const _ of [1, 2]) {
      const sendColumns = { state: "unknown", next_attempt_at: new Date(0) };
      const id = await queueMessage(context, { to: newPerson(), sendColumns });
      await untilMessage(context, id, { status: "failed" }); // by the recovery
    }
    t.same(await readRows(), before);
    await db.query("delete from sends where id = any($1)", [backlog]);
    await releaseQueue(db);
    await untilMessage(context, held, { status: "accepted" });
  });

  t.test(
    "a message whose second part is held stays `sending`, and its first part is sent once",
    async (t) => {
      const { answer } = platform;
      const channelId = await makeChannel(context, tenant, { platform: "photoapp" });
      const content = { link: "https://example.com/a.png", caption: "Look" };
      platform.pauseAnswers();
      const before = platform.received.length;
      const to = newPlatformId();
      const [id = ""] = await queueTo(channelId, { to, type: "image", content });
      await until("the first part is open", () => platform.openRequests() === 1);
      await holdQueue(db, { by: "an operator" });
      platform.answer = answer;
      platform.release(1, (response) => answerAccepted(response, "m_picture"));
      await untilMessage(context, id, { state: "waiting" });
      const statuses: (string | undefined)[] = [];
      const readStatus = async () => {
        const status = (await findMessage(db, tenant.id, id))?.status;
        statuses.push(status);
        return status;
      };
      t.equal(await readStatus(), "sending");
      const listed = (status: string) =>
        listMessages(db, tenant.id, { page: { limit: 10 }, filters: { channel_id: channelId, status } });
      t.same([(await listed("sending")).length, (await listed("queued")).length], [1, 0]);
      await releaseQueue(db);
      await until("the message is sent", async () => (await readStatus()) === "sent");
      t.same([...new Set(statuses)], ["sending", "sent"]);
      const parts = platform.received.slice(before).map(({ raw }) => Object.keys(JSON.parse(raw).message)[0]);
      t.same(parts, ["attachment", "text"]);
      t.match(await readMessage(context, id), { platform_message_id: "m_picture", attempts: 1 });
    },
  );

  t.test("after a reconnect each person gets the rest of the messages in order", async (t) => {
    const { answer } = platform;
    const asset = { phoneNumberId: newPlatformId(), wabaId: newPlatformId() };
    const channelId = await makeChannel(context, tenant, { ...asset, token: "a-token" });
    const people = times(5, newPerson);
    const texts = times(6, String);
    const accepted: string[] = [];
    let isTokenDead = false;
    platform.answer = (response, { headers, raw }) => {
      const { to, text, biz_opaque_callback_data: id } = JSON.parse(raw);
      if (accepted.length >= 2 * people.length) isTokenDead = true;
      if (isTokenDead && headers.authorization === "Bearer a-token") return answerRefused(response, 190);
      accepted.push(`${to} ${text.body}`);
      return answerAccepted(response, `wamid.${id}`);
    };
    const messages = texts.flatMap((body) => people.map((to) => ({ to, content: { body } })));
    const ids = await queueTo(channelId, ...messages);
    await until("the token is dead", async () => {
      const rows = await db.query("select 1 from channels where id = $1 and status = 'needs_reauth'", [
        channelId,
      ]);
      return rows.length === 1;
    });
    await makeChannel(context, tenant, { ...asset, token: "a-new-token" });
    for (const id of ids) await untilMessage(context, id, { status: "accepted" });
    for (const to of people)
      t.same(
        accepted.filter((entry) => entry.startsWith(to)),
        texts.map((body) => `${to} ${body}`),
      );
    platform.answer = answer;
  });
}

t.test("the queue of sends", async (t) => {
  t.jobs = 2; // mostly waiting; each has servers and dispatchers of its own
  t.test(
    "messages are sent once and within the rate while Redis is stopped and comes back empty",
    testOutage,
  );
  t.test("the rows of one dispatcher", testRows);
});
