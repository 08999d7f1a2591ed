import type { ServerResponse } from "node:http";
import t, { type Test } from "tap";
import { recordRetryDelays } from "../../../fixtures/messages/retry-delays.ts";
import {
  answerAccepted,
  answerRefused,
  queueMessage,
  readMessage,
  receivedBodies,
  type SentMessage,
  startSendingContext,
  untilMessage,
  untilPaused,
} from "../../../fixtures/messages/sending-context.ts";
import { makeChannel, newPlatformId } from "../../../fixtures/tenants/channels.ts";
import { makeTenant } from "../../../fixtures/tenants/tenants.ts";

const [THROTTLED, FREE] = ["5511900000001", "5511900000002"];
const SECOND = 1_000;
const MINUTE = 60 * SECOND;

/** A client with two numbers of a business, and another client. The platform refuses messages to THROTTLED. */
async function startThrottling(t: Test, refuse: (response: ServerResponse) => void) {
  const wabaId = newPlatformId();
  const context = await startSendingContext(t, { channel: { wabaId } });
  const { platform, tenant } = context;
  platform.answer = (response) => {
    if (receivedBodies(platform).at(-1).to === THROTTLED) refuse(response);
    else answerAccepted(response, "wamid.1");
  };
  const otherTenant = await makeTenant(context);
  return {
    ...context,
    wabaId,
    otherNumber: { ...context, channelId: await makeChannel(context, tenant, { wabaId }) },
    otherClient: { ...context, tenant: otherTenant, channelId: await makeChannel(context, otherTenant) },
  };
}

/** Milliseconds from a moment before the attempt until the next one. */
const delayAfter = (since: number, { next_attempt_at }: SentMessage) =>
  (next_attempt_at?.getTime() ?? 0) - since;

for (const code of [4, 341, 80007, 80008])
  t.test(`${code} without a wait delays only the refused message, with the backoff of sends`, async (t) => {
    const context = await startThrottling(t, (response) => answerRefused(response, code));
    const { untilRetryDelay } = await recordRetryDelays(context.db);
    const { delayMs } = await untilRetryDelay(await queueMessage(context, { to: THROTTLED }), 1);
    t.ok(delayMs >= 1.5 * SECOND && delayMs <= 2.5 * SECOND, `${delayMs} ms`);
    for (const sender of [context, context.otherNumber, context.otherClient])
      await untilMessage(context, await queueMessage(sender, { to: FREE }), { status: "accepted" });
  });

t.test("80007 with a wait pauses all numbers of the business, and no other business", async (t) => {
  const context = await startThrottling(t, (response) => {
    const usage = { type: "whatsapp", call_count: 100, estimated_time_to_regain_access: 5 };
    response.setHeader("x-business-use-case-usage", JSON.stringify({ [context.wabaId]: [usage] }));
    answerRefused(response, 80007);
  });
  const since = Date.now();
  const id = await queueMessage(context, { to: THROTTLED });
  const row = await untilMessage(context, id, { state: "waiting", send_attempts: 1 });
  t.ok(delayAfter(since, row) >= 5 * MINUTE);
  for (const sender of [context, context.otherNumber]) {
    const pausedId = await queueMessage(sender, { to: FREE });
    await untilPaused(context, sender.channelId);
    await untilMessage(context, pausedId, { state: "waiting" });
    t.match(
      await readMessage(context, pausedId),
      { send_attempts: 0 },
      "a paused message uses up no attempt",
    );
  }
  const otherId = await queueMessage(context.otherClient, { to: FREE });
  await untilMessage(context, otherId, { status: "accepted" });
  t.equal(receivedBodies(context.platform).length, 2, "paused messages do not reach the platform");
});
