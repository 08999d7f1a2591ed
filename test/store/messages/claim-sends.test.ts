import { randomUUID } from "node:crypto";
import type { Test } from "tap";
import t from "tap";
import { newId } from "../../../src/runtime/ids.ts";
import { cancelSend } from "../../../src/store/messages/cancel-sends.ts";
import {
  claimSends,
  createSendPoll,
  markSending,
  releaseSendClaim,
  type SendClaimRequest,
  type SendKey,
} from "../../../src/store/messages/claim-sends.ts";
import { finishSends } from "../../../src/store/messages/finish-sends.ts";
import { holdQueue, releaseQueue } from "../../../src/store/processes/queue-hold.ts";
import { MAX_DEATHS, SUSPECT_DEATHS } from "../../../src/store/processes/workers.ts";
import { secondsFromNow } from "../../fixtures/events/queue-rows.ts";
import { insertBatch } from "../../fixtures/messages/batch-rows.ts";
import { readRows, updateRow } from "../../fixtures/messages/messages.ts";
import {
  claimWithNewLease,
  countRowsOfPlans,
  finishOf,
  insertManySends,
  insertQueued,
  LONG_AGO,
  openSendQueue,
  readSend,
  requestOf,
  type SendQueueContext,
} from "../../fixtures/messages/send-queue.ts";
import { untilBlocked } from "../../fixtures/servers/lock-waits.ts";
import { disableAutovacuum } from "../../fixtures/servers/query-plans.ts";
import { connectRawClient } from "../../fixtures/servers/servers.ts";
import { makeChannel } from "../../fixtures/tenants/channels.ts";

/** A further channel of the client, with these columns. */
async function addChannel(context: SendQueueContext, columns: Record<string, unknown> = {}): Promise<string> {
  const id = await makeChannel(context, { id: context.clientId });
  if (Object.keys(columns).length > 0) await updateRow(context, "channels", { id, ...columns });
  return id;
}

const claimed = () => ({ state: "claimed", worker_id: "wrk_2", lease: randomUUID(), claimed_at: new Date() });

/** Columns of a batch whose sends are not claimed. */
const INACTIVE_BATCHES = [
  { status: "scheduled" },
  { status: "paused", pause_reason: "requested", paused_at: new Date() },
  { status: "running", pause_reason: null, paused_at: null, expires_at: secondsFromNow(-1) },
  { status: "finished", finished_at: new Date() },
];

async function updateBatch({ db }: SendQueueContext, columns: Record<string, unknown>): Promise<void> {
  const assignments = Object.keys(columns).map((name, index) => `${name} = $${index + 1}`);
  await db.query(`update batches set ${assignments.join(", ")} where id = 'bat_1'`, Object.values(columns));
}

/** Columns of a send, whether a claim takes it, and columns of its channel. */
const CASES: Record<string, [isTaken: boolean, Record<string, unknown>, channel?: Record<string, unknown>]> =
  {
    "a first attempt": [true, {}],
    "a retry": [true, { attempts: 2, last_error: "{}" }],
    "one death": [true, { deaths: SUSPECT_DEATHS - 1 }],
    behind: [false, { state: "behind" }],
    claimed: [false, claimed()],
    unknown: [false, { state: "unknown", lease: randomUUID() }],
    "not due": [false, { next_attempt_at: secondsFromNow(600) }],
    "a retry that is not due": [false, { attempts: 1, next_attempt_at: secondsFromNow(600) }],
    expired: [false, { expires_at: secondsFromNow(-1) }],
    "a retry that has expired": [false, { attempts: 1, expires_at: secondsFromNow(-1) }],
    suspect: [false, { deaths: SUSPECT_DEATHS }],
    quarantined: [false, { deaths: MAX_DEATHS }],
    scheduled: [false, { state: "scheduled", next_attempt_at: secondsFromNow(-1) }],
    "of a batch": [false, { batch_id: "bat_1" }],
    "channel needs a new token": [false, {}, { status: "needs_reauth" }],
    "channel disconnected": [false, {}, { status: "disconnected" }],
    "channel without a token": [false, {}, { token_sealed: null }],
  };

t.test("a claim takes due sends that wait and leaves all others unchanged", async (t) => {
  const context = await openSendQueue(t);
  const sends = new Map<string, { id: string; channelId: string }>();
  for (const [name, [, columns, channel]] of Object.entries(CASES)) {
    const channelId = channel ? await addChannel(context, channel) : context.channelId;
    sends.set(name, { channelId, id: await insertQueued(context, { ...columns, channel_id: channelId }) });
  }
  const read = async () =>
    new Map(
      await Promise.all(
        [...sends].map(async ([name, { id }]) => [name, await readSend(context, id)] as const),
      ),
    );
  const before = await read();
  const channelIds = new Set([...sends.values()].map(({ channelId }) => channelId));
  const requests = [...channelIds].map((channelId) => requestOf(context, { channelId, max: 20 }));
  const lease = { token: randomUUID(), worker: "wrk_1" };
  await holdQueue(context.db, { by: "an operator" });
  t.same(await claimSends(context.db, requests, lease), [], "none while the queue is held");
  t.same(await read(), before);
  await releaseQueue(context.db);
  const rows = await claimSends(context.db, requests, lease);
  const after = await read();
  for (const [name, [isTaken]] of Object.entries(CASES)) {
    const isReturned = rows.some(({ id }) => id === sends.get(name)?.id);
    t.equal(isReturned, isTaken, name);
    const changes = { state: "claimed", worker_id: "wrk_1", lease: lease.token, claimed_at: Date };
    if (isTaken) t.match(after.get(name), { ...before.get(name), ...changes }, name);
    else t.same(after.get(name), before.get(name), name);
  }
  t.match(
    rows.find(({ id }) => id === sends.get("a retry")?.id),
    {
      ...{
        client_id: context.clientId,
        channel_id: context.channelId,
        batch_id: "",
        attempts: 2,
        last_error: "{}",
      },
      ...{ type: "text", content: '{"body":"Hello"}', platform: "chatapp", recipient: "5511999998888" },
      ...{ token_sealed: String, phone_number_id: String, is_suspect: false, is_settled: false },
    },
  );
  const claimBatch = async () => (await claimWithNewLease(context, { batchId: "bat_1" })).ids;
  t.same(await claimBatch(), [], "there is no such batch");
  await insertBatch(
    context,
    { id: context.clientId },
    { channel_id: context.channelId, id: "bat_1", status: "scheduled", send_at: secondsFromNow(60) },
  );
  for (const columns of INACTIVE_BATCHES) {
    await updateBatch(context, columns);
    t.same(await claimBatch(), [], JSON.stringify(columns));
    t.same(
      (await createSendPoll(context.db)(undefined, 100)).filter(({ batchId }) => batchId !== ""),
      [],
    );
  }
  await updateBatch(context, { status: "running", expires_at: secondsFromNow(60), finished_at: null });
  t.same(await claimBatch(), [sends.get("of a batch")?.id]);
});

/** Claims one send at a time until none is left, at most ten. */
async function claimInOrder(context: SendQueueContext, after: Date | null): Promise<string[]> {
  const ids: string[] = [];
  for (let count = 0; count < 10; count += 1)
    ids.push(...(await claimWithNewLease(context, { max: 1, after })).ids);
  return ids;
}

t.test(
  "retries go before first attempts, and those of the last minute do not depend on `after`",
  async (t) => {
    const context = await openSendQueue(t);
    const first = await insertQueued(context, { next_attempt_at: secondsFromNow(-20) });
    const late = await insertQueued(context, { attempts: 1, next_attempt_at: secondsFromNow(-1) });
    const early = await insertQueued(context, { attempts: 3, next_attempt_at: secondsFromNow(-30) });
    const old = await insertQueued(context, { attempts: 3, next_attempt_at: secondsFromNow(-7_200) });
    t.same(await claimInOrder(context, secondsFromNow(-10)), [early, late]);
    t.same(await claimInOrder(context, null), [first]);
    t.same(await claimInOrder(context, secondsFromNow(-7_201)), [old]);
    const retries = [
      await insertQueued(context, { attempts: 1 }),
      await insertQueued(context, { attempts: 1 }),
    ];
    const fresh = [await insertQueued(context), await insertQueued(context), await insertQueued(context)];
    const { ids } = await claimWithNewLease(context, { max: 4 });
    t.same(ids, [...retries, fresh[0], fresh[1]], "one claim takes both, and not more than it asked for");
  },
);

t.test("first attempts are claimed in the order of their time, then of their acceptance", async (t) => {
  const context = await openSendQueue(t);
  const [a, b, c, d] = [newId("msg"), newId("msg"), newId("msg"), newId("msg")] as const;
  const sameTime = secondsFromNow(-10);
  for (const id of [c, a, b]) await insertQueued(context, { id, next_attempt_at: sameTime });
  await insertQueued(context, { id: d, next_attempt_at: secondsFromNow(-20) });
  t.same(await claimInOrder(context, null), [d, c, a, b]);
});

t.test("a claim leaves out first attempts that were due before `after`", async (t) => {
  const context = await openSendQueue(t);
  const old = await insertQueued(context, { next_attempt_at: secondsFromNow(-3_600) });
  const fresh = await insertQueued(context);
  t.same(await claimInOrder(context, null), [fresh], "without it, those of the last 30 seconds are claimed");
  t.same(await claimInOrder(context, secondsFromNow(-3_000)), []);
  t.same(await claimInOrder(context, secondsFromNow(-3_601)), [old]);
});

t.test("suspects are claimed by a request for suspects only", async (t) => {
  const context = await openSendQueue(t);
  const usual = await insertQueued(context, { deaths: SUSPECT_DEATHS - 1 });
  const suspects = [
    await insertQueued(context, { deaths: SUSPECT_DEATHS, attempts: 1 }),
    await insertQueued(context, { deaths: MAX_DEATHS - 1 }),
  ];
  await insertQueued(context, { deaths: MAX_DEATHS });
  t.match((await claimWithNewLease(context)).rows, [{ id: usual, is_suspect: false }]);
  const one = await claimWithNewLease(context, { isSuspect: true, max: 1 });
  t.match(one.rows, [{ id: suspects[0], is_suspect: true }]);
  t.same((await claimWithNewLease(context, { isSuspect: true })).ids, [suspects[1]]);
});

t.test("a message that a status webhook has settled is claimed as settled and is not changed", async (t) => {
  const context = await openSendQueue(t);
  const statuses = ["queued", "unknown", "accepted", "sent", "delivered", "read", "failed"];
  const ids: string[] = [];
  for (const status of statuses) {
    const id = await insertQueued(context);
    await updateRow(context, "messages", { id, status });
    ids.push(id);
  }
  const { rows, lease } = await claimWithNewLease(context);
  const settled = ids.filter((id) => rows.find((row) => row.id === id)?.is_settled);
  t.same(settled, ids.slice(2));
  const before = await readRows(context, "messages", { id: context.clientId });
  const finished = await finishSends(
    context.db,
    settled.map((id) =>
      finishOf(context, id, lease.token, { outcome: "settled", attempt: null, parts_sent: 0 }),
    ),
  );
  t.same(finished.map(({ id }) => id).sort(), settled);
  t.same(await readRows(context, "messages", { id: context.clientId }), before);
  const left = await readRows(context, "sends", { id: context.clientId });
  t.same(
    left.map(({ id }) => id),
    ids.slice(0, 2),
  );
});

t.test(
  "concurrent claims take each send once, never more than asked for, the first of a key first",
  async (t) => {
    const context = await openSendQueue(t);
    const channels = [context.channelId, await addChannel(context), await addChannel(context)];
    await insertBatch(context, { id: context.clientId }, { channel_id: context.channelId, id: "bat_1" });
    const keys = channels.flatMap((channelId) => ["", "bat_1"].map((batchId) => ({ channelId, batchId })));
    const nameOf = (channelId: string, batchId: string) => `${channelId} ${batchId}`;
    const remaining = new Map<string, string[]>();
    for (const { channelId, batchId } of keys) {
      const ids: string[] = [];
      for (let index = 0; index < 20; index += 1) {
        const columns = { channel_id: channelId, batch_id: batchId, attempts: index < 7 ? 1 : 0 };
        ids.push(await insertQueued(context, { ...columns, next_attempt_at: secondsFromNow(index - 1_000) }));
      }
      remaining.set(nameOf(channelId, batchId), ids);
    }
    const claimedIds = new Set<string>();
    for (let round = 0; round < 12; round += 1) {
      const claims = await Promise.all(
        ["wrk_1", "wrk_2", "wrk_3", "wrk_4"].map(async (worker, index) => {
          const requests = keys
            .filter((_, key) => (key + index + round) % 4 > 0)
            .map((key, position) =>
              requestOf(context, { ...key, max: 1 + ((round + index + position) % 3) }),
            );
          const rows = await claimSends(context.db, requests, { token: randomUUID(), worker });
          for (const { channelId, batchId, max } of requests) {
            const ofKey = rows.filter((row) => row.channel_id === channelId && row.batch_id === batchId);
            if (ofKey.length > max) t.fail(`${ofKey.length} of ${max}`);
          }
          return rows;
        }),
      );
      for (const { id } of claims.flat()) {
        if (claimedIds.has(id)) t.fail(`${id} was claimed twice`);
        claimedIds.add(id);
      }
      for (const { channelId, batchId } of keys) {
        const ofKey = claims.flat().filter((row) => row.channel_id === channelId && row.batch_id === batchId);
        const expected = remaining.get(nameOf(channelId, batchId))?.splice(0, ofKey.length);
        t.same(ofKey.map(({ id }) => id).sort(), expected, "the first ones of the key");
      }
    }
    t.equal(claimedIds.size, 120, "all are claimed");
  },
);

t.test("of a cancelled batch only messages of which a part was sent are claimed", async (t) => {
  const context = await openSendQueue(t);
  const { clientId, channelId } = context;
  const batch = { channel_id: channelId, id: "bat_1", status: "cancelled" };
  const batch_id = await insertBatch(context, { id: clientId }, batch);
  const insert = (columns: Record<string, unknown>) => insertQueued(context, { batch_id, ...columns });
  const begun = { parts_sent: 1, platform_message_id: "m_1" };
  for (const columns of [{}, { attempts: 1 }, { deaths: SUSPECT_DEATHS }]) await insert(columns);
  const single = await insertQueued(context);
  const waiting = [await insert(begun), await insert({ ...begun, attempts: 1 })];
  const suspect = await insert({ ...begun, deaths: SUSPECT_DEATHS });
  const claim = async (overrides: Partial<SendClaimRequest>) =>
    (await claimWithNewLease(context, overrides)).ids;
  t.same(await claim({ batchId: batch_id }), waiting);
  t.same(await claim({ batchId: batch_id, isSuspect: true }), [suspect]);
  t.same(await claim({}), [single]);
});

t.test("a claimed message is either marked or cancelled", async (t) => {
  const context = await openSendQueue(t);
  const { db, clientId } = context;
  const [marked, cancelled] = [await insertQueued(context), await insertQueued(context)];
  const { lease } = await claimWithNewLease(context);
  const mark = (id: string) =>
    markSending(db, [
      { client_id: clientId, id, lease: lease.token, parts_sent: 0, platform_message_id: null },
    ]);
  t.same((await mark(marked)).markedIds, [marked]);
  t.equal(await cancelSend(db, clientId, marked), undefined);
  const raw = await connectRawClient(t, context.config.DATABASE_URL);
  let marking: ReturnType<typeof mark> | undefined;
  await db.transaction(async (tx) => {
    t.match(await cancelSend(tx, clientId, cancelled), { id: cancelled });
    marking = mark(cancelled);
    await untilBlocked(raw, 1);
  });
  t.same((await marking)?.markedIds, []);
  t.equal(await readSend(context, cancelled), undefined);
});

t.test("the poll returns each channel and batch with due sends, suspects first", async (t) => {
  const context = await openSendQueue(t);
  const channels = [context.channelId];
  for (let count = 0; count < 3; count += 1) channels.push(await addChannel(context));
  const [one, two, three, four] = channels.sort() as [string, string, string, string];
  for (const channel of [{ status: "needs_reauth" }, { status: "disconnected" }])
    await insertQueued(context, { channel_id: await addChannel(context, channel) });
  const since = secondsFromNow(-60);
  await insertQueued(context, { channel_id: one });
  await insertQueued(context, { channel_id: one, attempts: 1, next_attempt_at: since });
  await insertBatch(context, { id: context.clientId }, { id: "bat_1", channel_id: two });
  await insertQueued(context, { channel_id: two, batch_id: "bat_1" });
  await insertQueued(context, { channel_id: two });
  await insertQueued(context, { channel_id: three, next_attempt_at: secondsFromNow(600) });
  for (const state of [{ state: "behind" }, { state: "unknown" }, claimed()])
    await insertQueued(context, { channel_id: three, ...state });
  for (const seconds of [-30, -60])
    await insertQueued(context, { channel_id: four, deaths: 2, next_attempt_at: secondsFromNow(seconds) });
  const poll = (last?: { channelId: string; batchId: string }, limit = 10) =>
    createSendPoll(context.db)(last, limit);
  const found = await poll();
  t.same(
    found.map(({ channelId, batchId, isSuspect }) => [channelId, batchId, isSuspect]),
    [
      [four, "", true],
      [one, "", false],
      [two, "", false],
      [two, "bat_1", false],
    ],
  );
  t.ok(found.every(({ clientId }) => clientId === context.clientId));
  t.same(found[1]?.after, since);
  const continued = await poll({ channelId: two, batchId: "" });
  t.same(
    continued.map(({ channelId, batchId }) => [channelId, batchId]),
    [
      [four, ""],
      [two, "bat_1"],
    ],
    "after the last key",
  );
  t.same(await poll(undefined, 3), found.slice(0, 3));
  await claimWithNewLease(context, { channelId: one });
  t.notOk(
    (await poll()).some(({ channelId }) => channelId === one),
    "claimed sends do not wait",
  );
});

t.test("a claim whose answer was lost releases its own sends that have not started", async (t) => {
  const context = await openSendQueue(t);
  const [unstarted, started] = [await insertQueued(context), await insertQueued(context)];
  const { lease } = await claimWithNewLease(context);
  const mark = { client_id: context.clientId, lease: lease.token, parts_sent: 0, platform_message_id: null };
  t.same((await markSending(context.db, [{ ...mark, id: started }])).markedIds, [started]);
  const others = [await insertQueued(context), await insertQueued(context)];
  const sameWorker = await claimWithNewLease(context, { max: 1 });
  const otherWorker = await claimWithNewLease(context, { max: 1 }, "wrk_2");
  t.same([...sameWorker.ids, ...otherWorker.ids], others);
  const readKept = () => Promise.all([started, ...others].map((id) => readSend(context, id)));
  const kept = await readKept();
  await releaseSendClaim(context.db, { ...lease, worker: "wrk_2" });
  t.match(await readSend(context, unstarted), { state: "claimed" });
  await releaseSendClaim(context.db, lease);
  t.match(await readSend(context, unstarted), {
    state: "waiting",
    worker_id: null,
    lease: null,
    claimed_at: null,
  });
  t.same(await readKept(), kept);
});

/** Fifty thousand sends of one channel that wait, and a few of twenty others; without statistics. */
async function openLongQueue(t: Test): Promise<SendQueueContext> {
  const context = await openSendQueue(t);
  await disableAutovacuum(context.db, ["sends", "messages_default", "channels"]);
  await insertManySends(context, { count: 50_000, messages: 5_000 });
  for (let count = 0; count < 20; count += 1) {
    const channelId = await addChannel(context);
    await insertManySends({ ...context, channelId }, { count: 5, messages: 5 });
  }
  return context;
}

/** Ten times what the statements read, and far less than they would read of all sends. */
const MAX_ROWS_READ = 2_000;

t.test("with fifty thousand sends that wait on one channel", async (t) => {
  const context = await openLongQueue(t);

  /** Checks how many rows a claim reads. */
  async function checkClaim(t: Test, overrides: Partial<SendClaimRequest>): Promise<void> {
    const lease = { token: randomUUID(), worker: "wrk_1" };
    const { custom, generic } = await countRowsOfPlans(context, (db) =>
      claimSends(db, [requestOf(context, overrides)], lease),
    );
    t.ok(Math.max(custom, generic) < MAX_ROWS_READ, `${custom} and ${generic} rows`);
  }

  t.test("a claim reads few of them", async (t) => {
    for (const after of [LONG_AGO, secondsFromNow(-3_580), null]) await checkClaim(t, { max: 25, after });
    t.equal((await claimWithNewLease(context, { max: 25 })).rows.length, 25);
  });

  t.test("a claim of suspects reads few of them", (t) => checkClaim(t, { isSuspect: true, max: 1 }));

  t.test("the poll reads few of them", async (t) => {
    const { custom, generic } = await countRowsOfPlans(context, (db) =>
      createSendPoll({ ...context.db, transaction: (work) => work(db) })(undefined, 1_000),
    );
    t.ok(Math.max(custom, generic) < MAX_ROWS_READ, `${custom} and ${generic} rows`);
  });

  t.test("polls that continue each other return each key once, in order", async (t) => {
    const { db } = context;
    const channels = await db.query<{ id: string }>("select id from channels order by id desc");
    // An update moves the row: the table then has the channels in another order.
    for (const { id } of channels) await updateRow(context, "channels", { id, external_ref: "moved" });
    const found: string[] = [];
    let last: SendKey | undefined;
    for (let polls = 0; polls < 5; polls += 1) {
      const keys = await createSendPoll(db)(last, 5);
      found.push(...keys.map(({ channelId }) => channelId));
      last = keys.at(-1);
    }
    t.same(found, channels.map(({ id }) => id).reverse());
  });
});
