import t from "tap";
import { HOUR } from "../../../src/runtime/durations.ts";
import { firstIdAt } from "../../../src/runtime/ids.ts";
import { countBatchMessages, findBatchSpan } from "../../../src/store/stats/batch-stats.ts";
import { insertClientWithLastByte, openQueueContext } from "../../fixtures/events/queue-rows.ts";
import { insertBatch } from "../../fixtures/messages/batch-rows.ts";
import { insertMessage } from "../../fixtures/messages/message-rows.ts";

const NOON = Date.UTC(2030, 4, 10, 12);
const idAt = (time: number, digit: number) => `${firstIdAt("msg", time)}${String(digit).repeat(16)}`;

t.test("a batch whose ids are of two hours has a row for each, and none of other messages", async (t) => {
  const context = await openQueueContext(t);
  const client = { id: context.clientId };
  const other = { id: await insertClientWithLastByte(context.db, 9) };
  const channel_id = "ch_1";
  const messages = [idAt(NOON - 1, 1), idAt(NOON, 2), idAt(NOON, 3)];
  const batch_id = await insertBatch(context, client, { channel_id, messages });
  const statuses = ["sent", "scheduled", "cancelled"];
  for (const [index, id] of messages.entries()) {
    const row = { id, channel_id, batch_id, status: statuses[index] };
    await insertMessage(context, client, row);
    await insertMessage(context, other, row);
  }
  await insertMessage(context, client, { id: idAt(NOON, 0), channel_id });
  const batch = await findBatchSpan(context.db, client.id, batch_id);
  if (!batch) throw new Error("there is no batch");
  t.equal(await findBatchSpan(context.db, other.id, batch_id), undefined);
  const count = (from: number, to: number, interval: "hour" | "day" = "hour") =>
    countBatchMessages(context.db, client.id, {
      batch,
      since: new Date(NOON + from * HOUR),
      until: new Date(NOON + to * HOUR),
      interval,
    });
  const row = (start: number, counts: number[]) => ({
    start: new Date(start),
    dimension: channel_id,
    counts,
  });
  const [first, second] = [row(NOON - HOUR, [1, 1, 0, 0, 0, 0]), row(NOON, [2, 0, 0, 0, 1, 1])];
  t.same(await count(-1, 1), [first, second]);
  t.same(await count(0, 1), [second]);
  t.same(await count(-1, 0), [first]);
  t.same(await count(1, 5), []);
  t.same(await count(-12, 12, "day"), [row(NOON - 12 * HOUR, [3, 1, 0, 0, 1, 1])]);
});
