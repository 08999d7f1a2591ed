import t from "tap";
import { startBatchSends } from "../../../src/store/batches/change-batch.ts";
import { insertManyBatches } from "../../fixtures/messages/batch-rows.ts";
import { countRowsOfPlans, openSendQueue } from "../../fixtures/messages/send-queue.ts";
import { disableAutovacuum } from "../../fixtures/servers/query-plans.ts";

for (const moment of ["never", "before the sends are accepted", "after they were accepted"])
  t.test(`the start of batches reads their messages only, with statistics taken ${moment}`, async (t) => {
    const context = await openSendQueue(t);
    const { db, clientId, channelId } = context;
    await disableAutovacuum(db, ["sends", "messages_default"]);
    if (moment.startsWith("before")) await db.query("analyze sends");
    await insertManyBatches(context, { senders: [context], count: 20, messages: 100 });
    const ids = await insertManyBatches(context, { senders: [context], count: 10, messages: 10 });
    if (moment.startsWith("after")) await db.query("analyze");
    const refs = ids.map((id) => ({ client_id: clientId, id, channel_id: channelId, status: "running" }));
    const read = await countRowsOfPlans(context, (counted) => startBatchSends(counted, refs));
    t.ok(Math.max(read.custom, read.generic) < 1_000, `it reads ${JSON.stringify(read)} rows`);
  });
