import { randomUUID } from "node:crypto";
import t from "tap";
import { claimDeliveries, claimSuspect } from "../../../src/store/events/claim-deliveries.ts";
import type { DeliveryRef } from "../../../src/store/events/events.ts";
import { claimSends, markSending } from "../../../src/store/messages/claim-sends.ts";
import { holdQueue, readQueueHold, releaseQueue } from "../../../src/store/processes/queue-hold.ts";
import { startClientBackend } from "../../fixtures/events/client-backend.ts";
import { queueEvents } from "../../fixtures/events/deliveries.ts";
import { configureWebhook, makeEvents, readDelivery, updateDelivery } from "../../fixtures/events/events.ts";
import { insertDueDeliveries, openQueueContext, requestsOf } from "../../fixtures/events/queue-rows.ts";
import {
  queueMessage,
  queueMessages,
  readMessage,
  receivedBodies,
  startSendingContext,
  untilMessage,
} from "../../fixtures/messages/sending-context.ts";
import { openPatientRedis } from "../../fixtures/servers/redis.ts";
import { makeChannel } from "../../fixtures/tenants/channels.ts";
import { until } from "../../fixtures/until.ts";

t.test("no statement claims a row of a held queue", async (t) => {
  const context = await openQueueContext(t);
  const { db, clientId } = context;
  const redis = openPatientRedis(t, context.config);
  const channelId = await makeChannel(context, { id: clientId });
  const lease = { token: randomUUID(), worker: "wrk_1" };
  const [claimed = "", waiting = ""] = await queueMessages(
    { db, redis },
    { tenant: { id: clientId }, channelId },
    { to: "5511900000001" },
    { to: "5511900000002" },
  );
  const [delivery] = (await insertDueDeliveries(context, 1)) as [DeliveryRef];
  await insertDueDeliveries(context, 1, { deaths: 2 });
  const claimOne = async () => {
    const request = { clientId, channelId, batchId: "", isSuspect: false, max: 1, after: null };
    return (await claimSends(db, [request], lease)).map(({ id }) => id);
  };
  t.same(await claimOne(), [claimed]);

  t.equal(await holdQueue(db, { by: "an operator", reason: "a repair" }), true);
  const hold = await readQueueHold(db);
  t.match(hold, { held: true, since: Date, by: "an operator", reason: "a repair" });
  t.equal(await holdQueue(db, { by: "another operator" }), false, "a second hold changes nothing");
  t.same(await readQueueHold(db), hold);
  t.same(await claimDeliveries(db, requestsOf([delivery]), lease), []);
  t.equal(await claimSuspect(db, lease, []), undefined);
  t.same(await claimOne(), []);
  t.match(await readMessage(context, waiting), { state: "waiting" });
  const mark = { client_id: clientId, id: claimed, lease: lease.token };
  const marks = [{ ...mark, parts_sent: 0, platform_message_id: null }];
  t.same(await markSending(db, marks), { markedIds: [], isHeld: true }, "a claimed send does not start");

  t.same(await releaseQueue(db), { held: false, since: null, by: null, reason: null });
  t.same(await markSending(db, marks), { markedIds: [claimed], isHeld: false });
  t.equal((await claimDeliveries(db, requestsOf([delivery]), lease)).length, 1);
  t.same(await claimOne(), [waiting]);
  t.ok(await claimSuspect(db, { ...lease, token: randomUUID() }, []));
});

t.test("a held dispatcher starts nothing, and continues in order after the release", async (t) => {
  const context = await startSendingContext(t);
  const { db, redis, tenant, platform, lines } = context;
  const backend = await startClientBackend(t);
  await configureWebhook(context, tenant, { url: backend.url });
  await holdQueue(db, { by: "an operator" });
  // The dispatcher may not have noticed the hold yet.
  const [to, texts] = ["5511900000003", ["one", "two", "three"]];
  const messages = texts.map((body) => ({ to, content: { body } }));
  const ids = await queueMessages({ db, redis }, context, ...messages);
  const events = await queueEvents({ db, redis }, tenant, {}, {});
  await until("it notices the hold", () => lines.some(({ event }) => event === "queue.held"));
  const [unqueued = "", suspect = ""] = await makeEvents(context, tenant, {}, {});
  await updateDelivery(context, suspect, { deaths: 2 });
  // A send of unknown outcome whose time is over fails in the next recovery.
  const sendColumns = { state: "unknown", next_attempt_at: new Date(0) };
  const unknown = await queueMessage(context, { to: "5511900000009", sendColumns });
  await untilMessage(context, unknown, { status: "failed" });
  t.same(platform.received, []);
  t.same(backend.received, []);
  t.match(await readDelivery(context, unqueued), { state: "pending" });

  await releaseQueue(db);
  for (const id of ids) await untilMessage(context, id, { status: "accepted" });
  t.same(
    receivedBodies(platform).map(({ text }) => text.body),
    texts,
  );
  await until("all events are delivered", async () => {
    const rows = await Promise.all([...events, unqueued, suspect].map((id) => readDelivery(context, id)));
    return rows.every(({ state }) => state === "delivered");
  });
  t.ok(lines.some(({ event }) => event === "queue.released"));
});
