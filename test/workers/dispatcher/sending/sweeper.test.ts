import { randomUUID } from "node:crypto";
import t, { type Test } from "tap";
import { createStreams } from "../../../../src/queue/streams.ts";
import { MINUTE } from "../../../../src/runtime/durations.ts";
import { type SendSweepParts, sweepSends } from "../../../../workers/dispatcher/sending/sweeper.ts";
import { captureLog } from "../../../fixtures/captured-log.ts";
import { startApi } from "../../../fixtures/http/api.ts";
import { insertMessage, insertSend, readMessageState } from "../../../fixtures/messages/message-rows.ts";
import { connectRedis } from "../../../fixtures/servers/redis.ts";
import { withRepeatedTransactions } from "../../../fixtures/servers/statements.ts";
import { makeChannel } from "../../../fixtures/tenants/channels.ts";
import { makeTenant } from "../../../fixtures/tenants/tenants.ts";

/** A sweep, and the messages that it abandons. */
async function open(t: Test) {
  const api = await startApi(t);
  const tenant = await makeTenant(api);
  const channel_id = await makeChannel(api, tenant);
  const { log, events } = captureLog();
  const abandoned: [string, unknown][] = [];
  const notified: string[] = [];
  const parts: SendSweepParts = {
    db: withRepeatedTransactions(api.db),
    streams: createStreams(await connectRedis(t), 1),
    notifier: { epoch: () => "epoch", notify: (refs) => void notified.push(...refs.map(({ id }) => id)) },
    log,
    aliveForMs: () => MINUTE,
    unknownTimeoutMs: MINUTE,
    onAbandoned: ({ id }, { code }) => void abandoned.push([id, code]),
  };
  const insert = async (columns: Record<string, unknown>) => {
    const id = await insertMessage(api, tenant, { channel_id });
    await insertSend(api, tenant, { id, channel_id, ...columns });
    return id;
  };
  return { api, parts, insert, events, abandoned, notified };
}

t.test("a sweep whose transaction is repeated abandons, logs and notifies once", async (t) => {
  const { api, parts, insert, events, abandoned, notified } = await open(t);
  const expired = await insert({ expires_at: new Date(Date.now() - 1_000) });
  const interrupted = await insert({
    state: "in_hand",
    worker_id: "wrk_gone",
    lease: randomUUID(),
    claimed_at: new Date(Date.now() - MINUTE),
    sending_at: new Date(),
  });
  await sweepSends(parts);
  t.same(abandoned, [[expired, "expired"]]);
  t.same(events(), ["sweep.reclaimed"]);
  t.match(await readMessageState(api, expired), { status: "failed", error: { code: "expired" } });
  t.match(await readMessageState(api, interrupted), { status: "unknown" });
  t.equal(new Set(notified).size, notified.length);
  t.equal((await api.db.query("select 1 from events")).length, 3, "two results and one status");
});
