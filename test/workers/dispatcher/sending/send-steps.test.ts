import t from "tap";
import { MINUTE } from "../../../../src/runtime/durations.ts";
import type { ClaimedSend } from "../../../../src/store/messages/claim-sends.ts";
import { insertDeadWorker } from "../../../fixtures/events/queue-rows.ts";
import { openMessageSender, type SendStep } from "../../../fixtures/messages/message-sender.ts";
import { updateRow } from "../../../fixtures/messages/messages.ts";
import {
  claimWithNewLease,
  insertQueued,
  openSendQueue,
  readSend,
} from "../../../fixtures/messages/send-queue.ts";
import { receivedMessages, untilMessage } from "../../../fixtures/messages/sending-context.ts";
import { startDispatcher } from "../../../fixtures/processes/dispatcher.ts";
import { makeChannel } from "../../../fixtures/tenants/channels.ts";
import { until } from "../../../fixtures/until.ts";

t.test("all that may wait comes before the mark of a send", async (t) => {
  const context = await openSendQueue(t);
  const { steps, send } = await openMessageSender(t, context);
  await insertQueued(context);
  const { rows, lease } = await claimWithNewLease(context);
  const sent = await send(rows[0] as ClaimedSend, lease.token);
  t.equal(sent?.finish.outcome, "accepted");
  t.same(steps, ["pause", "token for the mark", "mark", "token for the request", "request"]);
});

t.test("a second part asks for no token, and for the platform's pause again", async (t) => {
  const context = await openSendQueue(t);
  const channelId = await makeChannel(context, { id: context.clientId }, { platform: "socialapp" });
  const { steps, send } = await openMessageSender(t, context);
  const id = await insertQueued(context, { channel_id: channelId, recipient: "1001" });
  const content = JSON.stringify({ link: "https://example.com/a.png", caption: "Look" });
  await updateRow(context, "messages", { id, platform: "socialapp", type: "image", content });
  const { rows, lease } = await claimWithNewLease(context, { channelId });
  await send(rows[0] as ClaimedSend, lease.token);
  t.same(steps.slice(5), ["pause", "mark", "request"]);
});

t.test("a send that waits for Redis when its dispatcher dies is sent by another one", async (t) => {
  const context = await openSendQueue(t);
  await insertDeadWorker(context, "wrk_gone");
  const waits: SendStep[] = ["pause", "token for the mark"];
  const waiting = [];
  for (const step of waits) {
    const sender = await openMessageSender(t, context, step);
    const id = await insertQueued(context, { recipient: `55119000000${waiting.length + 10}` });
    const { rows, lease } = await claimWithNewLease(context, {}, "wrk_gone");
    const sending = sender.send(rows[0] as ClaimedSend, lease.token);
    await until(`it waits at the ${step}`, () => sender.steps.includes(step));
    t.match(await readSend(context, id), { state: "claimed", sending_at: null }, step);
    await updateRow(context, "sends", { id, claimed_at: new Date(Date.now() - MINUTE) });
    waiting.push({ ...sender, id, sending });
  }
  const [{ platform }] = waiting as [(typeof waiting)[number]];
  platform.answer = (response) => void response.writeHead(200).end('{"messages": [{"id": "wamid.2"}]}');
  const config = { ...context.config, CHAT_PLATFORM_URL: platform.url };
  await startDispatcher(t, { config });
  for (const { id } of waiting) await untilMessage(context, id, { status: "accepted", attempts: 1 });
  for (const { release, sending, id } of waiting) {
    release();
    t.equal(await sending, undefined, "the dispatcher has lost it");
    t.equal(receivedMessages(platform).filter((message) => message.id === id).length, 1);
  }
  t.equal(waiting[1]?.platform.received.length, 0);
});
