import t from "tap";
import { startBatchSends } from "../../../src/store/batches/change-batch.ts";
import { cancelBatchSends } from "../../../src/store/messages/cancel-sends.ts";
import { insertManyBatches } from "../../fixtures/messages/batch-rows.ts";
import { openSendQueue } from "../../fixtures/messages/send-queue.ts";
import { openWithKeptPlans } from "../../fixtures/servers/kept-plans.ts";
import { disableAutovacuum } from "../../fixtures/servers/query-plans.ts";

const MESSAGES = 50;
/** Of 4,000 messages. A plan that reads the others for each message of a batch reads hundreds of thousands. */
const MAX_READ_ROWS = 5_000;

for (const statistics of ["none", "of an empty queue", "of a full queue"])
  t.test(
    `a batch starts and is cancelled without reading all messages, with statistics: ${statistics}`,
    async (t) => {
      const { context, kept } = await openWithKeptPlans(t, openSendQueue);
      const { db, clientId: client_id, channelId: channel_id } = context;
      const startAndCancel = async () => {
        const [id = ""] = await insertManyBatches(context, {
          senders: [context],
          count: 1,
          messages: MESSAGES,
        });
        return kept.countRowsRead(async () => {
          await startBatchSends(kept.db, [{ client_id, id, channel_id, status: "running" }]);
          await cancelBatchSends(kept.db, client_id, id);
        });
      };
      await disableAutovacuum(db, ["sends", "messages_default"]);
      if (statistics === "of an empty queue") await db.query("vacuum analyze sends");
      if (statistics !== "of a full queue") await startAndCancel();
      await insertManyBatches(context, { senders: [context], count: 40, messages: 100 });
      if (statistics === "of a full queue") await db.query("analyze");
      const read = await startAndCancel();
      t.ok(read < MAX_READ_ROWS, `${read} rows were read`);
      const [row] = await db.query<{ count: number }>(
        "select count(*)::integer as count from messages where status = 'cancelled'",
      );
      t.ok(row && row.count >= MESSAGES);
    },
  );
