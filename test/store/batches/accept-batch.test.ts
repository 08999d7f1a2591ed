import { randomUUID } from "node:crypto";
import t from "tap";
import { newId } from "../../../src/runtime/ids.ts";
import { acceptBatch, findBatchRejection, type NewBatch } from "../../../src/store/batches/accept-batch.ts";
import { findBatch } from "../../../src/store/batches/batches.ts";
import { markClientDeleted } from "../../../src/store/tenants/client-erasure.ts";
import { openSendQueue, type SendQueueContext } from "../../fixtures/messages/send-queue.ts";

const messageOf = (id: string): NewBatch["messages"][number] => ({
  ...{ id, recipient: "5511999998888", recipient_kind: "phone", content: null, external_ref: null },
});

const batchOf = (
  { clientId, channelId }: SendQueueContext,
  ids: readonly string[],
  overrides: Partial<NewBatch> = {},
): NewBatch => ({
  ...{ client_id: clientId, id: newId("bat"), channel_id: channelId, name: null, type: "text" },
  ...{ content: '{"body":"Hi"}', options: null, template_name: null, template_language: null },
  ...{ status: "running", rate_per_second: null, send_at: null, request_id: "req_1" },
  ...{ key_id: randomUUID(), fingerprint: randomUUID(), reply_sealed: "sealed" },
  messages: ids.map(messageOf),
  ...overrides,
});

const accept = ({ db }: SendQueueContext, batch: NewBatch) => db.transaction((tx) => acceptBatch(tx, batch));

t.test("messages are counted also when the clock was set back while their ids were made", async (t) => {
  const context = await openSendQueue(t);
  const ids = [newId("msg"), newId("msg"), newId("msg")];
  const batch = batchOf(context, ids.toReversed());
  t.ok(await accept(context, batch));
  t.match(await findBatch(context.db, context.clientId, batch.id), { queued: 3 });
});

t.test("a key is used once until it has expired", async (t) => {
  const context = await openSendQueue(t);
  const { db } = context;
  const first = batchOf(context, [newId("msg")]);
  t.ok(await accept(context, first));
  const repeated = batchOf(context, [newId("msg")], { key_id: first.key_id });
  t.notOk(await accept(context, repeated));
  t.match(await findBatchRejection(db, repeated), { fingerprint: first.fingerprint, has_room: true });
  t.equal((await db.query("select from messages")).length, 1, "nothing of it is accepted");
  await db.query("update idempotency_keys set created_at = now() - interval '2 days'");
  t.ok(await accept(context, repeated));
  t.match(await findBatchRejection(db, first), { fingerprint: repeated.fingerprint });
});

t.test("nothing is accepted for a deleted client", async (t) => {
  const context = await openSendQueue(t);
  await markClientDeleted(context.db, context.clientId);
  t.notOk(await accept(context, batchOf(context, [newId("msg")])));
  t.equal((await context.db.query("select from messages")).length, 0);
  t.equal((await context.db.query("select from batches")).length, 0);
});
