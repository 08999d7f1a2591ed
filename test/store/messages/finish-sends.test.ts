import t from "tap";
import type { SendFinish } from "../../../src/store/messages/finish-sends.ts";
import { finishSends } from "../../../src/store/messages/finish-sends.ts";
import { readRows } from "../../fixtures/messages/messages.ts";
import {
  claimWithNewLease,
  finishOf,
  insertQueued,
  openSendQueue,
  readSend,
  retryAfter,
} from "../../fixtures/messages/send-queue.ts";
import { untilBlocked } from "../../fixtures/servers/lock-waits.ts";
import { connectRawClient } from "../../fixtures/servers/servers.ts";

/** An outcome, and the send after it; undefined when it is deleted. */
const CASES: [Partial<SendFinish>, Record<string, unknown> | undefined][] = [
  [{ steps: [{ status: "accepted", at: new Date().toISOString() }] }, undefined],
  [retryAfter(60_000), { state: "waiting", lease: null }],
];

t.test("an outcome is written that waited while the recovery made its message unknown", async (t) => {
  const context = await openSendQueue(t);
  const raw = await connectRawClient(t, context.config.DATABASE_URL);
  for (const [finish, expected] of CASES) {
    const [changed, other] = [await insertQueued(context), await insertQueued(context)];
    const { lease } = await claimWithNewLease(context);
    await raw.query("begin");
    await raw.query("update sends set state = 'unknown', worker_id = null, claimed_at = null where id = $1", [
      changed,
    ]);
    const ids = [changed, other];
    const finished = context.db.transaction((tx) =>
      finishSends(
        tx,
        ids.map((id) => finishOf(context, id, lease.token, finish)),
      ),
    );
    await untilBlocked(raw, 1);
    await raw.query("commit");
    t.same((await finished).map(({ id }) => id).sort(), ids);
    for (const id of ids) {
      const row = await readSend(context, id);
      if (expected) t.match(row, expected);
      else t.equal(row, undefined);
      const messages = await readRows(context, "messages", { id: context.clientId });
      t.match(
        messages.find((message) => message.id === id),
        { platform_attempts: { length: 1 } },
      );
    }
    await context.db.query("delete from sends");
  }
});
