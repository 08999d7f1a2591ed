import { randomUUID } from "node:crypto";
import type { Test } from "tap";
import t from "tap";
import { MAX_LEASE_MS, SEND_TTL_MS, WORKER_DEAD_AFTER_MS } from "../../../../src/runtime/deadlines.ts";
import { HOUR, MINUTE, SECOND } from "../../../../src/runtime/durations.ts";
import { finishBatches } from "../../../../src/store/batches/change-batch.ts";
import { createSendPoll } from "../../../../src/store/messages/claim-sends.ts";
import { finishSends } from "../../../../src/store/messages/finish-sends.ts";
import { countFailedMessages } from "../../../../src/store/messages/queue-metrics.ts";
import { lockRecovery, MAX_DEATHS, recordHeartbeat } from "../../../../src/store/processes/workers.ts";
import {
  createSendRecovery,
  type SendRecoveryParts,
} from "../../../../workers/dispatcher/sending/recovery.ts";
import { captureLog } from "../../../fixtures/captured-log.ts";
import { insertDeadWorker, withoutRetries } from "../../../fixtures/events/queue-rows.ts";
import { checkEventsAtEnd } from "../../../fixtures/events/stored-events.ts";
import { insertBatch } from "../../../fixtures/messages/batch-rows.ts";
import { readMessageState } from "../../../fixtures/messages/message-rows.ts";
import { updateRow } from "../../../fixtures/messages/messages.ts";
import {
  claimWithNewLease,
  finishOf,
  insertManySends,
  insertQueued,
  openSendQueue,
  readSend,
  readSendState,
  retryAfter,
} from "../../../fixtures/messages/send-queue.ts";
import { readMessageEvents } from "../../../fixtures/messages/sending-context.ts";
import { connectRawClient } from "../../../fixtures/servers/servers.ts";
import { withRepeatedTransactions } from "../../../fixtures/servers/statements.ts";
import { makeChannel } from "../../../fixtures/tenants/channels.ts";

/** A recovery whose transactions are repeated, as after a deadlock, and what it reports. */
async function openRecovery(t: Test, overrides: Partial<SendRecoveryParts> = {}) {
  const context = await openSendQueue(t);
  checkEventsAtEnd(t, context.db);
  await insertDeadWorker(context, "wrk_gone");
  const { log, events } = captureLog();
  const abandoned: [string, unknown][] = [];
  const notified: string[][] = [];
  const recover = createSendRecovery({
    db: withRepeatedTransactions(context.db),
    notifier: { notify: (clientIds) => void notified.push([...clientIds]) },
    log,
    aliveForMs: () => MINUTE,
    unknownTimeoutMs: MINUTE,
    onAbandoned: ({ id }, { code }) => void abandoned.push([id, code]),
    onReleased: () => {},
    maxStepWaitMs: 10 * MINUTE,
    ...overrides,
  });
  return { context, recover, events, abandoned, notified };
}

const inPast = (ms: number) => new Date(Date.now() - ms);

/** Columns of a send that a dead dispatcher claimed and did not begin to send. */
const unstarted = () => ({
  state: "claimed",
  worker_id: "wrk_gone",
  lease: randomUUID(),
  claimed_at: inPast(MINUTE),
});

/** Columns of a send whose request the dead dispatcher may have written. */
const started = () => ({ ...unstarted(), sending_at: inPast(MINUTE), started_at: inPast(MINUTE) });

t.test("a recovery whose transaction is repeated abandons, logs and notifies once", async (t) => {
  const { context, recover, events, abandoned, notified } = await openRecovery(t);
  const expired = await insertQueued(context, { recipient: "1", expires_at: inPast(SECOND) });
  const interrupted = await insertQueued(context, { recipient: "2", ...started() });
  await insertQueued(context, { recipient: "3", ...unstarted() });
  await recover();
  t.same(abandoned, [[expired, "expired"]]);
  t.same(events(), ["recovery.reclaimed", "message.interrupted", "recovery.reclaimed"]);
  t.match(await readMessageState(context, expired), { status: "failed", error: { code: "expired" } });
  t.match(await countFailedMessages(context.db, HOUR), [{ count: 1 }]);
  t.match(await readMessageState(context, interrupted), { status: "unknown" });
  t.equal((await context.db.query("select 1 from events")).length, 3, "two results and one status");
  const counts = [abandoned.length, events().length, notified.length];
  t.equal(notified.length, 3, "once for each step");
  await recover();
  t.same([abandoned.length, events().length], counts.slice(0, 2), "the next run finds nothing");
});

t.test(
  "a send counts the death of each dispatcher that did not begin it and fails at the fifth",
  async (t) => {
    const { context, recover, abandoned } = await openRecovery(t);
    const due = inPast(HOUR);
    const first = await insertQueued(context, { ...unstarted(), next_attempt_at: due });
    const last = await insertQueued(context, { ...unstarted(), deaths: MAX_DEATHS - 1 });
    await recover();
    await recover();
    t.match(await readSend(context, first), {
      ...{ state: "waiting", deaths: 1, attempts: 0, worker_id: null, lease: null, claimed_at: null },
      next_attempt_at: due,
    });
    t.equal(await readSend(context, last), undefined);
    t.match(await readMessageState(context, last), { status: "failed", error: { code: "quarantined" } });
    t.same(abandoned, [[last, "quarantined"]]);
    t.match(await readMessageEvents(context, last), [
      { type: "message.send_result", outcome: "rejected" },
      { type: "message.status", status: "failed" },
    ]);
  },
);

t.test("a send whose dispatcher did not die but lost the answer to its claim counts no death", async (t) => {
  const { context, recover } = await openRecovery(t);
  await recordHeartbeat(context.db, "wrk_alive", "dispatcher");
  const claimed_at = inPast(MAX_LEASE_MS + SECOND);
  const deaths = MAX_DEATHS - 1;
  const ids = [
    await insertQueued(context, { ...unstarted(), worker_id: "wrk_alive", claimed_at, deaths }),
    await insertQueued(context, { ...unstarted(), worker_id: "wrk_stopped", deaths }),
  ];
  await recover();
  for (const id of ids) t.match(await readSend(context, id), { state: "waiting", deaths, lease: null });
});

t.test("sends of living dispatchers, and those that were claimed recently, stay claimed", async (t) => {
  const { context, recover, events } = await openRecovery(t);
  await context.db.query(
    "insert into workers (id, process, heartbeat_at) values ('wrk_alive', 'dispatcher', $1)",
    [new Date(Date.now() + HOUR)],
  );
  const [ofLiving, inFuture] = [{ worker_id: "wrk_alive" }, { claimed_at: new Date(Date.now() + HOUR) }];
  const ids: string[] = [];
  for (const columns of [unstarted(), started()]) {
    ids.push(await insertQueued(context, { ...columns, ...ofLiving, claimed_at: inPast(MAX_LEASE_MS / 2) }));
    ids.push(await insertQueued(context, { ...columns, ...inFuture }));
  }
  const read = () => Promise.all(ids.map((id) => readSend(context, id)));
  const before = await read();
  await recover();
  t.same(await read(), before);
  t.same(events(), []);
});

t.test(
  "an interrupted attempt is recorded as unknown, until its dispatcher reports the outcome",
  async (t) => {
    const { context, recover } = await openRecovery(t);
    const columns = started();
    const id = await insertQueued(context, columns);
    await recover();
    t.match(await readSend(context, id), {
      state: "unknown",
      attempts: 1,
      worker_id: null,
      lease: columns.lease,
    });
    t.match(await readMessageEvents(context, id), [{ type: "message.send_result", outcome: "unknown" }]);
    const readAttempts = async () =>
      (
        await context.db.query<{ platform_attempts: unknown }>(
          "select platform_attempts from messages where id = $1",
          [id],
        )
      )[0]?.platform_attempts;
    t.match(await readAttempts(), [
      { attempt: 1, outcome: "unknown", at: String, error: /The dispatcher stopped/ },
    ]);
    const finish = finishOf(context, id, columns.lease, { platform_message_id: "wamid.late" });
    await finishSends(context.db, [finish]);
    t.same(await readAttempts(), [
      { attempt: 1, at: finish.attempt?.at, outcome: "accepted", status_code: 200, duration_ms: 9 },
    ]);
    t.equal(await readSend(context, id), undefined);
  },
);

t.test(
  "a send of a finished batch is sent when its dispatcher reports that it was not, or expires",
  async (t) => {
    const { context, recover } = await openRecovery(t);
    const { db, clientId } = context;
    await insertBatch(context, { id: clientId }, { channel_id: context.channelId, id: "bat_1" });
    const columns = { ...started(), batch_id: "bat_1", expires_at: "infinity" };
    const id = await insertQueued(context, columns);
    await recover();
    t.match(await finishBatches(db, [{ client_id: clientId, id: "bat_1" }]), [{ id: "bat_1" }]);
    await finishSends(db, [finishOf(context, id, columns.lease, retryAfter(0))]);
    t.match(await createSendPoll(db)(undefined, 10), [{ batchId: "bat_1" }]);
    const { rows } = await claimWithNewLease(context, { batchId: "bat_1" });
    t.match(rows, [{ id, is_settled: false }]);
    const [send] = await db.query<{ expires_at: Date }>("select expires_at from sends where id = $1", [id]);
    t.ok(Number(send?.expires_at) <= Date.now() + SEND_TTL_MS + MINUTE, "the batch no longer ends it");
  },
);

/** Columns of a send, its channel's status, and the code with which it fails; undefined when it stays. */
const OVERDUE: Record<string, [Record<string, unknown>, status: string, code?: string]> = {
  "waited too long": [{ expires_at: inPast(SECOND) }, "connected", "expired"],
  "waited too long behind another": [{ expires_at: inPast(SECOND), state: "behind" }, "connected", "expired"],
  "waited too long with an error": [
    {
      expires_at: inPast(SECOND),
      attempts: 2,
      last_error: '{"code":131000,"title":"x","message":"y","details":null}',
      last_error_code: "131000",
    },
    "connected",
    "131000",
  ],
  "waited too long for a token": [{ expires_at: inPast(SECOND) }, "needs_reauth", "channel_disconnected"],
  "waits for a token": [{}, "needs_reauth"],
  disconnected: [{}, "disconnected", "channel_disconnected"],
  "disconnected, behind another": [{ state: "behind" }, "disconnected", "channel_disconnected"],
  "disconnected, not yet due": [
    { attempts: 1, next_attempt_at: new Date(Date.now() + HOUR) },
    "disconnected",
    "channel_disconnected",
  ],
  "disconnected, outcome awaited": [
    { state: "unknown", lease: randomUUID(), next_attempt_at: new Date(Date.now() + HOUR) },
    "disconnected",
  ],
  "outcome awaited": [
    { state: "unknown", lease: randomUUID(), next_attempt_at: new Date(Date.now() + HOUR) },
    "connected",
  ],
  "outcome awaited too long": [
    { state: "unknown", lease: randomUUID(), next_attempt_at: inPast(SECOND) },
    "connected",
    "outcome_unknown",
  ],
  "waits for its turn": [{ next_attempt_at: new Date(Date.now() + HOUR) }, "connected"],
};

t.test("sends that waited too long fail, and so do those of disconnected channels", async (t) => {
  const { context, recover, abandoned } = await openRecovery(t);
  const client = { id: context.clientId };
  const channels = new Map<string, string>();
  for (const status of ["connected", "needs_reauth", "disconnected"]) {
    const id = await makeChannel(context, client);
    channels.set(status, id);
    await updateRow(context, "channels", { id, status });
  }
  const ids = new Map<string, string>();
  for (const [name, [columns, status]] of Object.entries(OVERDUE)) {
    const id = await insertQueued(context, { recipient: name, ...columns, channel_id: channels.get(status) });
    if (columns.state === "unknown") await updateRow(context, "messages", { id, status: "unknown" });
    ids.set(name, id);
  }
  const failed = Object.entries(OVERDUE).flatMap(([name, [, , code]]) =>
    code ? [[ids.get(name), code]] : [],
  );
  await recover();
  t.same(abandoned.map(([id, code]) => [id, String(code)]).sort(), failed.sort());
  for (const [name, [columns, , code]] of Object.entries(OVERDUE)) {
    const id = ids.get(name) as string;
    t.equal((await readSend(context, id)) === undefined, code !== undefined, name);
    const [row] = await context.db.query("select error_code from messages where id = $1", [id]);
    t.same(row, { error_code: code ?? null }, `code of: ${name}`);
    const types = (await readMessageEvents(context, id)).map(({ type }) => type);
    const result = columns.state === "unknown" ? [] : ["message.send_result"];
    t.same(types, code ? [...result, "message.status"] : [], `events of: ${name}`);
  }
});

/** Columns of a send, and whether the recovery ends it. */
const ENDED: Record<string, [boolean, Record<string, unknown>]> = {
  interrupted: [true, started()],
  expired: [true, { expires_at: inPast(SECOND) }],
  quarantined: [true, { state: "waiting", deaths: MAX_DEATHS }],
  requeued: [false, unstarted()],
};

t.test("the next message to the person is released in the same run", async (t) => {
  const { context, recover } = await openRecovery(t);
  const next = new Map<string, string>();
  for (const [recipient, [, columns]] of Object.entries(ENDED)) {
    await insertQueued(context, { recipient, ...columns });
    next.set(recipient, await insertQueued(context, { recipient, state: "behind" }));
  }
  // The search for missed sends comes to these people first, and to no others in one run.
  await insertManySends(context, { count: 1_000, state: "behind" });
  await recover();
  for (const [name, [isEnded]] of Object.entries(ENDED))
    t.equal(await readSendState(context, next.get(name) as string), isEnded ? "waiting" : "behind", name);
});

t.test("the next message is released after one that a status webhook has settled", async (t) => {
  const { context, recover, abandoned } = await openRecovery(t);
  const settled = await insertQueued(context, { expires_at: inPast(SECOND) });
  await updateRow(context, "messages", { id: settled, status: "sent" });
  const next = await insertQueued(context, { state: "behind" });
  await recover();
  t.equal(await readSend(context, settled), undefined);
  t.match(await readMessageState(context, settled), { status: "sent", error: null });
  t.same(abandoned, []);
  t.equal(await readSendState(context, next), "waiting");
});

t.test("each run continues where the last one ended, and begins again at the end", async (t) => {
  const { context, recover } = await openRecovery(t);
  await insertManySends(context, { count: 1_500, state: "behind" });
  const countBehind = async () => {
    const rows = await context.db.query("select 1 from sends where state = 'behind'");
    return rows.length;
  };
  // The first people stay blocked: a run that began with them again would never come to the others.
  await context.db.query(
    `insert into sends (client_id, id, channel_id, recipient, state, worker_id, lease, claimed_at, expires_at)
    overriding system value
    select client_id, id || 'x', channel_id, recipient, 'claimed', 'wrk_1', $1, now() + interval '1 hour', expires_at
    from sends
    where recipient <= '00001000'`,
    [randomUUID()],
  );
  await context.db.query("update sends set place = default where state = 'behind'");
  await recover();
  t.equal(await countBehind(), 1_500);
  await recover();
  t.equal(await countBehind(), 1_000);
  await context.db.query("delete from sends where state = 'claimed'");
  await recover();
  t.equal(await countBehind(), 0);
});

t.test(
  "a dispatcher with a gap in its heartbeats judges no others, and fails what waited too long",
  async (t) => {
    let aliveForMs = WORKER_DEAD_AFTER_MS - 1;
    const { context, recover, events, abandoned } = await openRecovery(t, { aliveForMs: () => aliveForMs });
    const ids = [await insertQueued(context, unstarted()), await insertQueued(context, started())];
    const expired = await insertQueued(context, { recipient: "1", expires_at: inPast(SECOND) });
    const states = () => Promise.all(ids.map((id) => readSendState(context, id)));
    await recover();
    t.same(await states(), ["claimed", "claimed"]);
    t.same([events(), abandoned], [[], [[expired, "expired"]]]);
    aliveForMs = WORKER_DEAD_AFTER_MS;
    await recover();
    t.same(await states(), ["waiting", "unknown"]);
  },
);

t.test("one process at a time does a step of the recovery", async (t) => {
  const { context, recover } = await openRecovery(t);
  const id = await insertQueued(context, unstarted());
  const raw = await connectRawClient(t, context.config.DATABASE_URL);
  await raw.query("begin");
  t.equal(await lockRecovery(withoutRetries(raw), "sends requeue_unstarted"), true);
  await recover();
  t.equal(await readSendState(context, id), "claimed");
  await raw.query("rollback");
  await recover();
  t.equal(await readSendState(context, id), "waiting");
});
