import t from "tap";
import { phones, startBatchContext, textBatch } from "../../../fixtures/messages/batches.ts";
import { queueMessage, receivedBodies, untilMessage } from "../../../fixtures/messages/sending-context.ts";
import { until } from "../../../fixtures/until.ts";

const RATE = 50;

t.test("a single message does not wait for a batch of 10,000 on its channel", async (t) => {
  const context = await startBatchContext(t, { CHANNEL_RATE_PER_SECOND: String(RATE) });
  const { platform, batches, channelId } = context;
  const people = phones(1_000);
  const ids: string[] = [];
  for (let part = 0; part < 10; part += 1)
    ids.push(await batches.start(textBatch(channelId, people, { name: "large" })));
  await until("the batches use the rate of the channel", () => platform.received.length > 2 * RATE);
  for (let round = 0; round < 5; round += 1) {
    const before = platform.received.length;
    const id = await queueMessage(context, { to: `551198888000${round}` });
    await untilMessage(context, id, { status: "accepted" });
    const place = receivedBodies(platform).findIndex(({ to }) => to === `551198888000${round}`);
    t.ok(place - before < 2 * RATE, `${place - before} messages of batches were sent before it`);
  }
  for (const id of ids) {
    const { counts } = await batches.read(id);
    t.ok(counts.accepted > 0, "each batch has its turn");
  }
});

t.test("a batch does not exceed its own rate", async (t) => {
  const context = await startBatchContext(t, { CHANNEL_RATE_PER_SECOND: "1000" });
  const { batches, channelId } = context;
  const slow = await batches.start(textBatch(channelId, phones(60), { rate_per_second: 1 }));
  const fast = await batches.start(textBatch(channelId, phones(60, 5511800000000)));
  await batches.untilBatch(fast, { status: "finished" });
  const { body } = await batches.change(slow, "cancel");
  t.ok(body.counts.cancelled > 30, `${60 - body.counts.cancelled} were sent beside 60 of the other batch`);
});
