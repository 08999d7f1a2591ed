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
  readSendState,
} from "../../../fixtures/messages/send-queue.ts";
import { createTestRecovery } from "../../../fixtures/messages/send-recovery.ts";
import { receivedMessages } from "../../../fixtures/messages/sending-context.ts";
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

/** The steps at which a dispatcher may die, and whether another one then sends the message. */
const DEATHS: [step: SendStep, isSentAgain: boolean][] = [
  ["pause", true],
  ["token for the mark", true],
  ["mark", true],
  ["token for the request", false],
  ["request", false],
];

t.test("a send is sent by another dispatcher until its mark is written, and is unknown then", async (t) => {
  const context = await openSendQueue(t);
  await insertDeadWorker(context, "wrk_gone");
  const interrupted = [];
  for (const [step, isSentAgain] of DEATHS) {
    const sender = await openMessageSender(t, context, step);
    const id = await insertQueued(context, { recipient: `55119000000${interrupted.length + 10}` });
    const { rows, lease } = await claimWithNewLease(context, {}, "wrk_gone");
    const sending = sender.send(rows[0] as ClaimedSend, lease.token);
    await until(`it waits at the ${step}`, () => sender.steps.includes(step));
    await updateRow(context, "sends", { id, claimed_at: new Date(Date.now() - MINUTE) });
    interrupted.push({ ...sender, step, isSentAgain, id, sending });
  }
  await createTestRecovery(context).recover();
  const other = await openMessageSender(t, context);
  const { rows, lease } = await claimWithNewLease(context);
  for (const row of rows) {
    const sent = await other.send(row, lease.token);
    t.equal(sent?.finish.outcome, "accepted");
  }
  const ofOther = receivedMessages(other.platform).map(({ id }) => id);
  for (const { step, isSentAgain, id, platform, release, sending } of interrupted) {
    t.equal(ofOther.filter((otherId) => otherId === id).length, isSentAgain ? 1 : 0, step);
    t.equal(await readSendState(context, id), isSentAgain ? "claimed" : "unknown", step);
    release();
    const sent = await sending;
    t.equal(sent?.finish.outcome === "accepted", !isSentAgain, `a dispatcher that goes on at the ${step}`);
    t.equal(platform.received.length, isSentAgain ? 0 : 1, `its requests after the ${step}`);
  }
});
