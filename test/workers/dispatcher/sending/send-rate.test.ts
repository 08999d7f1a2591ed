import t from "tap";
import { SECOND } from "../../../../src/runtime/durations.ts";
import {
  queueMessage,
  queueMessages,
  receivedBodies,
  startSendingContext,
  untilMessage,
} from "../../../fixtures/messages/sending-context.ts";
import { startDispatcher } from "../../../fixtures/processes/dispatcher.ts";
import { makeChannel } from "../../../fixtures/tenants/channels.ts";
import { until } from "../../../fixtures/until.ts";

const RATE = 50;

t.test("the send rate of two dispatchers", async (t) => {
  const settings = { CHANNEL_RATE_PER_SECOND: String(RATE) };
  const context = await startSendingContext(t, { settings });
  const { platform } = context;
  const other = await startDispatcher(t, { config: context.config });

  t.test("two dispatchers together keep a channel's rate and do not delay other channels", async (t) => {
    const neighbour = await makeChannel(context, context.tenant);
    const many = Array.from({ length: 3 * RATE }, (_, index) => ({ to: `55119200000${index + 100}` }));
    const began = Date.now();
    await queueMessages(context, context, ...many);
    const id = await queueMessage({ ...context, channelId: neighbour }, { to: "5511977777777" });
    await untilMessage(context, id, { status: "accepted" });
    await until("all are sent", () => platform.received.length === many.length + 1);
    const theirs = platform.received.filter(({ raw }) => !raw.includes("5511977777777"));
    for (const [index, { at }] of theirs.entries()) {
      const allowed = RATE + ((at - began) * RATE) / SECOND;
      if (index + 1 > allowed + 1) t.fail(`${index + 1} after ${at - began} ms`);
    }
    t.equal(
      new Set(receivedBodies(platform).map(({ to }) => to)).size,
      many.length + 1,
      "each message is sent once",
    );
    const haveBothSent = () =>
      [context, other].every(({ lines }) => lines.some(({ event }) => event === "message.sent"));
    // One of them may have been slow to begin: further messages follow until it sends too.
    await until("both dispatchers have sent", async () => {
      if (haveBothSent()) return true;
      await queueMessage(context, { to: "5511966666666" });
      return false;
    });
  });
});
