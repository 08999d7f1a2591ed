import type { Test } from "tap";
import t from "tap";
import { MINUTE } from "../../../../src/runtime/durations.ts";
import { readMessageState } from "../../../fixtures/messages/message-rows.ts";
import {
  insertManySends,
  insertQueued,
  openSendQueue,
  readSendState,
  type SendQueueContext,
} from "../../../fixtures/messages/send-queue.ts";
import { createTestRecovery } from "../../../fixtures/messages/send-recovery.ts";
import { openWithKeptPlans } from "../../../fixtures/servers/kept-plans.ts";
import { untilBlocked } from "../../../fixtures/servers/lock-waits.ts";
import { disableAutovacuum } from "../../../fixtures/servers/query-plans.ts";
import { connectRawClient } from "../../../fixtures/servers/servers.ts";
import { until } from "../../../fixtures/until.ts";

const inPast = () => new Date(Date.now() - MINUTE);

/** A send that has expired, and one for each of two steps that come later. */
async function insertForThreeSteps(context: SendQueueContext) {
  return {
    expired: await insertQueued(context, { recipient: "1", expires_at: inPast() }),
    quarantined: await insertQueued(context, { recipient: "2", deaths: 5 }),
    scheduled: await insertQueued(context, { recipient: "3", state: "scheduled", next_attempt_at: inPast() }),
  };
}

async function checkLaterSteps(
  t: Test,
  context: SendQueueContext,
  ids: Record<"quarantined" | "scheduled", string>,
) {
  t.match(await readMessageState(context, ids.quarantined), { status: "failed" });
  t.equal(await readSendState(context, ids.scheduled), "waiting");
}

t.test("a step of the recovery that waits for a lock delays no other", async (t) => {
  const context = await openSendQueue(t);
  const { recover } = createTestRecovery(context, { maxStepWaitMs: 1 });
  const ids = await insertForThreeSteps(context);
  const holder = await connectRawClient(t, context.config.DATABASE_URL);
  await holder.query("begin");
  await holder.query("select from messages where id = $1 for update", [ids.expired]);
  await recover();
  await untilBlocked(holder, 1);
  await until("the other steps have ended", async () => {
    await recover();
    const { status } = await readMessageState(context, ids.quarantined);
    return status === "failed" && (await readSendState(context, ids.scheduled)) === "waiting";
  });
  t.match(await readMessageState(context, ids.expired), { status: "queued" });
  await holder.query("rollback");
  await until("the step has ended", async () => {
    await recover();
    return (await readMessageState(context, ids.expired)).status === "failed";
  });
});

t.test("a step of the recovery that fails is logged and repeated, and the others go on", async (t) => {
  const context = await openSendQueue(t);
  const { recover, lines } = createTestRecovery(context);
  const ids = await insertForThreeSteps(context);
  await context.db.query(
    `create function refuse() returns trigger language plpgsql as $$ begin raise exception 'refused'; end $$`,
  );
  await context.db.query(
    `create trigger refuse before update on messages for each row
    when (old.recipient = '1' or old.id = '${ids.expired}') execute function refuse()`,
  );
  await recover();
  await recover();
  await checkLaterSteps(t, context, ids);
  t.match(
    lines.filter(({ event }) => String(event).startsWith("send_recovery.")),
    [{ event: "send_recovery.step_failed", step: "fail_expired", err: /refused/ }],
  );
  await context.db.query("drop trigger refuse on messages");
  await recover();
  t.match(await readMessageState(context, ids.expired), { status: "failed" });
  t.match(lines.at(-1), { event: "send_recovery.step_recovered", step: "fail_expired" });
});

const SCHEDULED = 2_000;
/** Of each send. Where the check of one person read the sends of all others, it would be thousands. */
const MAX_ROWS_PER_SEND = 150;

t.test(
  "thousands of messages that are scheduled for one moment start, whatever the statistics say",
  async (t) => {
    const { context, kept } = await openWithKeptPlans(t, openSendQueue);
    await disableAutovacuum(context.db, ["sends", "messages_default"]);
    await insertManySends(context, { count: SCHEDULED, messages: SCHEDULED });
    await context.db.query(
      "update sends set state = 'scheduled', next_attempt_at = now() - interval '1 second'",
    );
    await context.db.query("update messages set status = 'scheduled'");
    await context.db.query("analyze sends");
    const { recover } = createTestRecovery(context);
    const rows = await kept.countRowsRead(recover);
    const states = await context.db.query("select state, count(*)::integer from sends group by state");
    t.same(states, [{ state: "waiting", count: SCHEDULED }]);
    t.ok(rows < MAX_ROWS_PER_SEND * SCHEDULED, `${rows} rows were read`);
    t.match(await context.db.query("select 1 from messages where status = 'scheduled'"), []);
  },
);
