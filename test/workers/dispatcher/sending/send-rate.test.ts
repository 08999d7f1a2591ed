import t from "tap";
import { discardMessages } from "../../../../src/domain/messages/cancel-and-discard.ts";
import { SECOND } from "../../../../src/runtime/durations.ts";
import { times } from "../../../fixtures/events/deliveries.ts";
import { insertSendBacklog } from "../../../fixtures/messages/backlog.ts";
import { findRateExcess, openConnections, readRequestTimes } from "../../../fixtures/messages/send-rate.ts";
import {
  answerAccepted,
  answerRefused,
  queueMessage,
  queueMessages,
  receivedMessages,
  startSendingContext,
  untilMessage,
} from "../../../fixtures/messages/sending-context.ts";
import { startDispatcher } from "../../../fixtures/processes/dispatcher.ts";
import { makeActor } from "../../../fixtures/tenants/actors.ts";
import { makeChannel } from "../../../fixtures/tenants/channels.ts";
import { makeTenant } from "../../../fixtures/tenants/tenants.ts";
import { until } from "../../../fixtures/until.ts";

/** Low, so that a few milliseconds more or less on the way to the platform are less than a message. */
const RATE = 20;
const BACKLOG = 300;
/** The person whose first message the platform refuses for the moment. */
const RETRIED = "5511955555555";

t.test("the send rate of two dispatchers", async (t) => {
  const settings = { CHANNEL_RATE_PER_SECOND: String(RATE) };
  const context = await startSendingContext(t, { settings });
  const { db, platform } = context;
  const other = await startDispatcher(t, { config: context.config });
  await openConnections(context, RATE);
  let isRefused = false;
  platform.answer = (response, { raw }) => {
    const { to, biz_opaque_callback_data: id } = JSON.parse(raw);
    if (to !== RETRIED || isRefused) return answerAccepted(response, `wamid.${id}`);
    isRefused = true;
    return answerRefused(response, 131000);
  };
  /** The messages that the platform received, of those with the given ids. */
  const received = (ids: readonly string[]) => {
    const wanted = new Set(ids);
    return receivedMessages(platform).filter(({ id }) => wanted.has(id));
  };

  t.test("two dispatchers together keep a channel's rate and do not delay other channels", async (t) => {
    const neighbour = await makeChannel(context, context.tenant);
    const many = times(3 * RATE, (index) => ({ to: `55119200000${index + 100}` }));
    const ids = await queueMessages(context, context, ...many);
    const id = await queueMessage({ ...context, channelId: neighbour }, { to: "5511977777777" });
    await untilMessage(context, id, { status: "accepted" });
    await until("all are sent", () => received(ids).length >= ids.length);
    const excess = findRateExcess(await readRequestTimes(context, ids), RATE);
    // On a loaded machine the first of a window may take 0.5 s longer than the last. Each with its own rate would send 20 more.
    t.ok(excess <= RATE / 2, `${excess.toFixed(1)} messages more than the rate allows`);
    const haveBothSent = () =>
      [context, other].every(({ lines }) => lines.some(({ event }) => event === "message.sent"));
    // One of them may have been slow to begin: further messages follow until it sends too.
    await until("both dispatchers have sent", async () => {
      if (haveBothSent()) return true;
      await queueMessage(context, { to: "5511966666666" });
      return false;
    });
    t.equal(received(ids).length, ids.length, "each message is sent once");
  });

  t.test("backlogs", async (t) => {
    t.jobs = 2; // mostly waiting; each test has a channel of its own

    t.test("a retry keeps its place before a backlog and before later messages to the person", async (t) => {
      const channel = { tenant: context.tenant, channelId: await makeChannel(context, context.tenant) };
      const [first = "", second = ""] = await queueMessages(
        context,
        channel,
        { to: RETRIED },
        { to: RETRIED },
      );
      const backlog = await insertSendBacklog(db, { ...channel, count: BACKLOG });
      await untilMessage(context, second, { status: "accepted" });
      t.same(
        received([first, second]).map(({ id }) => id),
        [first, first, second],
      );
      const sent = received(backlog).length;
      t.ok(sent > RATE / 2, `${sent} of the backlog are sent before the retry is due`);
      t.ok(sent < 0.9 * BACKLOG, "the others follow it");
    });

    t.test("after a backlog was discarded, a new message starts at once", async (t) => {
      const tenant = await makeTenant(context);
      const channelId = await makeChannel(context, tenant);
      const backlog = await insertSendBacklog(db, { tenant, channelId, count: 2 * BACKLOG });
      await until("the rate makes the backlog wait", () => received(backlog).length > RATE);
      const { discarded } = await discardMessages(db, makeActor(tenant.id), { before: new Date() });
      t.ok(discarded > BACKLOG, `${discarded} are discarded`);
      const began = Date.now();
      const id = await queueMessage({ ...context, tenant, channelId });
      await until("the message arrives", () => received([id]).length > 0);
      const waitedMs = (received([id])[0]?.at ?? 0) - began;
      // The discarded messages would have taken 15 s or more.
      t.ok(waitedMs < 12 * SECOND, `it arrives after ${waitedMs} ms`);
    });
  });
});
