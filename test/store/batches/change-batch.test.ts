import t from "tap";
import { startBatchSends } from "../../../src/store/batches/change-batch.ts";
import { insertManyBatches } from "../../fixtures/messages/batch-rows.ts";
import { countRowsOfPlans, openSendQueue } from "../../fixtures/messages/send-queue.ts";

t.test("the start of batches reads their messages only", async (t) => {
  const context = await openSendQueue(t);
  const { db, clientId, channelId } = context;
  await insertManyBatches(context, { senders: [context], count: 40, messages: 100 });
  const ids = await insertManyBatches(context, { senders: [context], count: 10, messages: 10 });
  const refs = ids.map((id) => ({ client_id: clientId, id, channel_id: channelId, status: "running" }));
  for (const isAnalyzed of [false, true]) {
    if (isAnalyzed) await db.query("analyze");
    const read = await countRowsOfPlans(context, (counted) => startBatchSends(counted, refs));
    t.ok(Math.max(read.custom, read.generic) < 1_000, `it reads ${JSON.stringify(read)} rows`);
  }
});
