import type { Test } from "tap";
import t from "tap";
import { type BatchParts, makeDueChange, requestChange } from "../../../src/domain/batches/change-batch.ts";
import { listDueChanges } from "../../../src/store/batches/due-changes.ts";
import { finishSends } from "../../../src/store/messages/finish-sends.ts";
import { insertBatch, insertBatchMessage } from "../../fixtures/messages/batch-rows.ts";
import {
  claimWithNewLease,
  finishOf,
  openSendQueue,
  readSend,
  retryAfter,
} from "../../fixtures/messages/send-queue.ts";
import { untilBlocked } from "../../fixtures/servers/lock-waits.ts";
import { connectRawClient } from "../../fixtures/servers/servers.ts";

/** A batch whose only message is unknown, and a dispatcher that reports that it was not sent. */
async function open(t: Test) {
  const context = await openSendQueue(t);
  const { db, clientId, channelId: channel_id } = context;
  const client = { id: clientId };
  const batch_id = await insertBatch(context, client, { channel_id });
  const id = await insertBatchMessage(context, client, { channel_id, batch_id });
  const { lease } = await claimWithNewLease(context, { batchId: batch_id });
  await db.query(
    "update sends set state = 'unknown', worker_id = null, claimed_at = null, next_attempt_at = 'infinity'",
  );
  await db.query("update messages set status = 'unknown'");
  const raw = await connectRawClient(t, context.config.DATABASE_URL);
  const notifier = { notify: () => {} };
  const parts: BatchParts = { db, notifier, messageNotifier: notifier };
  /** Reports it in a transaction that stays open until another one waits for it. */
  const reportBeside = (work: () => Promise<unknown>): Promise<unknown> => {
    let waiting: Promise<unknown> | undefined;
    return db
      .transaction(async (tx) => {
        await finishSends(tx, [finishOf(context, id, lease.token, { ...retryAfter(0), attempt: null })]);
        waiting = work();
        await untilBlocked(raw, 1);
      })
      .then(() => waiting);
  };
  const cancel = () => requestChange(parts, { clientId, batchId: batch_id, request: "cancel" });
  const supervise = async () => {
    for (const due of await listDueChanges(db, 10))
      await makeDueChange(parts, { change: due.change, batches: [due] }, {});
  };
  const readStatus = async () =>
    (await db.query<{ status: string }>("select status from messages"))[0]?.status;
  return { context, id, reportBeside, cancel, supervise, readStatus };
}

t.test("a cancel waits for an outcome that puts a message back, and cancels it", async (t) => {
  const { context, id, reportBeside, cancel, readStatus } = await open(t);
  await reportBeside(cancel);
  t.equal(await readStatus(), "cancelled");
  t.equal(await readSend(context, id), undefined);
});

t.test("a cancelled batch ends only after a message that an outcome puts back meanwhile", async (t) => {
  const { context, id, reportBeside, cancel, supervise, readStatus } = await open(t);
  await cancel();
  // As after a cancel during which the message was being sent.
  await context.db.query("update batches set finished_at = null");
  await reportBeside(supervise);
  t.match(await context.db.query("select finished_at from batches"), [{ finished_at: null }]);
  await supervise();
  t.equal(await readStatus(), "cancelled");
  t.equal(await readSend(context, id), undefined);
  t.same(await context.db.query("select from batches where finished_at is null"), []);
});
