import { randomUUID } from "node:crypto";
import type { Test } from "tap";
import t from "tap";
import { discardMessages } from "../../../src/domain/messages/cancel-and-discard.ts";
import { MAX_BLOCKING_RETRY_MS } from "../../../src/runtime/deadlines.ts";
import { HOUR, MINUTE, SECOND } from "../../../src/runtime/durations.ts";
import { firstIdAt } from "../../../src/runtime/ids.ts";
import type { DueSendKey } from "../../../src/store/messages/claim-sends.ts";
import { discardSends } from "../../../src/store/messages/fail-sends.ts";
import { finishSends, type SendFinish } from "../../../src/store/messages/finish-sends.ts";
import { releaseMissedSends, releaseNextSends } from "../../../src/store/messages/send-order.ts";
import { writeSends } from "../../../workers/dispatcher/sending/sends.ts";
import { withoutRetries } from "../../fixtures/events/queue-rows.ts";
import { updateRow } from "../../fixtures/messages/messages.ts";
import {
  acceptMessage,
  claimWithNewLease,
  countRowsOfPlans,
  finishOf,
  insertManySends,
  insertQueued,
  openSendQueue,
  readSend,
  readSendState,
  retryAfter,
  type SendQueueContext,
} from "../../fixtures/messages/send-queue.ts";
import { untilBlocked } from "../../fixtures/servers/lock-waits.ts";
import { disableAutovacuum } from "../../fixtures/servers/query-plans.ts";
import { connectRawClient } from "../../fixtures/servers/servers.ts";
import { makeActor } from "../../fixtures/tenants/actors.ts";
import { makeChannel } from "../../fixtures/tenants/channels.ts";

/** Accepts a message on a connection of the product. */
const accept = (context: SendQueueContext, to?: string) =>
  acceptMessage(context, context.db, to === undefined ? {} : { to });

/** Accepts and claims a message; returns its id and lease. */
async function acceptClaimed(context: SendQueueContext, to?: string): Promise<{ id: string; lease: string }> {
  const { id } = await accept(context, to);
  const { ids, lease } = await claimWithNewLease(context);
  if (ids.join() !== id) throw new Error(`claimed ${ids.join()} instead of ${id}`);
  return { id, lease: lease.token };
}

/** Writes outcomes like a dispatcher; returns the keys that it is woken for. */
async function finish(
  context: SendQueueContext,
  sends: readonly { id: string; lease: string }[],
  outcome: Partial<SendFinish> = {},
): Promise<DueSendKey[]> {
  const released: DueSendKey[] = [];
  const notifier = { notify: () => {} };
  const onReleased = (keys: readonly DueSendKey[]) => void released.push(...keys);
  await writeSends(
    { db: context.db, notifier, onReleased },
    sends.map(({ id, lease }) => ({ ...finishOf(context, id, lease, outcome), events: [] })),
  );
  return released;
}

/** Reads the states of sends; undefined for those that are finished. */
const readStates = (context: SendQueueContext, ...sends: readonly { id: string }[]) =>
  Promise.all(sends.map(({ id }) => readSendState(context, id)));

/** A connection with an open transaction. */
async function begin(t: Test, { config }: SendQueueContext) {
  const raw = await connectRawClient(t, config.DATABASE_URL);
  await raw.query("begin");
  return { raw, tx: withoutRetries(raw), commit: () => raw.query("commit") };
}

t.test("a message waits behind an earlier one to the same person on the same channel", async (t) => {
  const context = await openSendQueue(t);
  const first = await accept(context);
  const second = await accept(context);
  const toAnother = await accept(context, "5511900000001");
  const channelId = await makeChannel(context, { id: context.clientId });
  const onAnother = await accept({ ...context, channelId });
  t.same([first.isDue, second.isDue, toAnother.isDue, onAnother.isDue], [true, false, true, true]);
  t.same(await readStates(context, first, second, toAnother, onAnother), [
    ...["waiting", "behind", "waiting", "waiting"],
  ]);
});

/** Columns of an earlier send, and whether later messages to the person wait for it. */
const BLOCKERS: Record<string, [boolean, Record<string, unknown>]> = {
  waiting: [true, {}],
  claimed: [true, { state: "claimed", worker_id: "wrk_1", lease: randomUUID(), claimed_at: new Date() }],
  behind: [true, { state: "behind" }],
  "first attempt, due later": [true, { next_attempt_at: new Date(Date.now() + HOUR) }],
  "a retry that is due": [true, { attempts: 3 }],
  "a retry within a minute": [true, { attempts: 1, next_attempt_at: new Date(Date.now() + 5 * SECOND) }],
  "a retry after more than a minute": [false, { attempts: 1, next_attempt_at: new Date(Date.now() + HOUR) }],
  "of unknown outcome": [false, { state: "unknown", attempts: 1, lease: randomUUID() }],
};

t.test("a send blocks later ones until it has an outcome, or its retry is far away", async (t) => {
  const context = await openSendQueue(t);
  for (const [name, [isBlocking, columns]] of Object.entries(BLOCKERS)) {
    const to = String(Object.keys(BLOCKERS).indexOf(name));
    await insertQueued(context, { ...columns, recipient: to });
    t.equal((await accept(context, to)).isDue, !isBlocking, name);
  }
});

t.test("a finish releases the next message, which keeps the time of its acceptance", async (t) => {
  const context = await openSendQueue(t);
  const first = await acceptClaimed(context);
  const [second, third] = [await accept(context), await accept(context)];
  const accepted = new Date(Date.now() - 20 * SECOND);
  await updateRow(context, "sends", { id: second.id, next_attempt_at: accepted });
  const { clientId, channelId } = context;
  t.same(await finish(context, [first]), [
    { clientId, channelId, batchId: "", isSuspect: false, after: accepted },
  ]);
  t.same(await readStates(context, first, second, third), [undefined, "waiting", "behind"]);
  t.same((await readSend(context, second.id))?.next_attempt_at, accepted);
  const later = await accept(context, "5511900000001");
  const { ids, lease } = await claimWithNewLease(context, { max: 1 });
  t.same(ids, [second.id], "it goes before a message that was accepted later");
  await finish(context, [{ id: second.id, lease: lease.token }]);
  t.same(await readStates(context, third, later), ["waiting", "waiting"]);
});

t.test("each outcome after which a send is not repeated soon lets the next message go", async (t) => {
  const context = await openSendQueue(t);
  const outcomes: [string, Partial<SendFinish>][] = [
    ["waiting", { outcome: "accepted" }],
    ["waiting", { outcome: "refused", error: "{}" }],
    ["waiting", { outcome: "settled", attempt: null }],
    ["waiting", { outcome: "unknown", delay_ms: MINUTE }],
    ["waiting", retryAfter(MAX_BLOCKING_RETRY_MS + 30 * SECOND)],
    ["behind", retryAfter(MAX_BLOCKING_RETRY_MS - 30 * SECOND)],
    ["behind", { ...retryAfter(0), attempt: null, delay_ms: null }],
  ];
  for (const [index, [expected, outcome]] of outcomes.entries()) {
    const first = await acceptClaimed(context, String(index));
    const second = await accept(context, String(index));
    const released = await finish(context, [first], outcome);
    t.equal(released.length, expected === "waiting" ? 1 : 0, JSON.stringify(outcome));
    t.equal(await readSendState(context, second.id), expected);
    await context.db.query("delete from sends");
  }
});

t.test("a finish waits for the acceptance of the next message, and releases it", async (t) => {
  const context = await openSendQueue(t);
  const first = await acceptClaimed(context);
  const { raw, tx, commit } = await begin(t, context);
  const second = await acceptMessage(context, tx);
  t.equal(second.isDue, false);
  const finished = finish(context, [first]);
  await untilBlocked(raw, 1);
  await commit();
  t.equal((await finished).length, 1);
  t.same(await readStates(context, first, second), [undefined, "waiting"]);
});

/** Outcomes of the earlier send, and the state of the message that is accepted meanwhile. */
const FINISHES: Record<string, [Partial<SendFinish>, string]> = {
  accepted: [{}, "waiting"],
  "of unknown outcome": [{ outcome: "unknown", delay_ms: MINUTE }, "waiting"],
  "retried within a minute": [retryAfter(30 * SECOND), "behind"],
  "retried after more than a minute": [retryAfter(HOUR), "waiting"],
};

t.test("an acceptance waits for the finish of the earlier message, whose outcome counts", async (t) => {
  const context = await openSendQueue(t);
  for (const [name, [outcome, expected]] of Object.entries(FINISHES)) {
    const first = await acceptClaimed(context, name);
    const { raw, tx, commit } = await begin(t, context);
    const finished = await finishSends(tx, [finishOf(context, first.id, first.lease, outcome)]);
    t.same(await releaseNextSends(tx, finished), []);
    const accepted = accept(context, name);
    await untilBlocked(raw, 1);
    await commit();
    t.equal(await readSendState(context, (await accepted).id), expected, name);
    await context.db.query("delete from sends");
  }
});

t.test("an acceptance that is not committed delays neither a claim nor a release", async (t) => {
  const context = await openSendQueue(t);
  const first = await accept(context);
  const second = await begin(t, context);
  const { id: secondId } = await acceptMessage(context, second.tx);
  const { ids, lease } = await claimWithNewLease(context);
  t.same(ids, [first.id]);
  await second.commit();
  const third = await begin(t, context);
  t.equal((await acceptMessage(context, third.tx)).isDue, false);
  t.equal((await finish(context, [{ id: first.id, lease: lease.token }])).length, 1);
  t.equal(await readSendState(context, secondId), "waiting");
  t.same((await claimWithNewLease(context)).ids, [secondId]);
  await third.commit();
});

t.test(
  "a message waits for the one that is being sent, also when the last one is discarded meanwhile",
  async (t) => {
    const context = await openSendQueue(t);
    const sending = await acceptClaimed(context);
    const discarded = await accept(context);
    const { raw, tx, commit } = await begin(t, context);
    const scope = { clientId: context.clientId, before: new Date(Date.now() + MINUTE) };
    t.match(await discardSends(tx, scope, { error: "{}", error_code: "discarded" }), [{ id: discarded.id }]);
    const accepted = accept(context);
    await untilBlocked(raw, 1);
    await commit();
    t.same(await readStates(context, sending, discarded, await accepted), ["claimed", undefined, "behind"]);
  },
);

t.test("a discard releases the messages that waited behind discarded ones and are kept", async (t) => {
  const context = await openSendQueue(t);
  const before = new Date(Date.now() - HOUR);
  let number = 0;
  /** Accepts a message this many seconds after the time of the discard. */
  const acceptAt = (to: string, seconds: number) => {
    number += 1;
    const id = firstIdAt("msg", before.getTime() + seconds * SECOND) + String(number).padStart(16, "0");
    return acceptMessage(context, context.db, { to, id });
  };
  const sending = await acceptAt("1", -60);
  const { lease } = await claimWithNewLease(context);
  const behindSending = [await acceptAt("1", -50), await acceptAt("1", 50)];
  const toAnother = [
    await acceptAt("2", -40),
    await acceptAt("2", -30),
    await acceptAt("2", 30),
    await acceptAt("2", 40),
  ];
  t.same(await discardMessages(context.db, makeActor(context.clientId), { before }), {
    discarded: 3,
    claimed: 1,
  });
  t.same(await readStates(context, ...toAnother), [undefined, undefined, "waiting", "behind"]);
  t.same(await readStates(context, sending, ...behindSending), ["claimed", undefined, "behind"]);
  t.equal((await finish(context, [{ id: sending.id, lease: lease.token }])).length, 1);
  t.same(await readStates(context, ...behindSending), [undefined, "waiting"]);
});

const countStates = async ({ db }: SendQueueContext) => {
  const rows = await db.query<{ state: string; count: number }>(
    "select state, count(*)::integer as count from sends group by state",
  );
  return Object.fromEntries(rows.map(({ state, count }) => [state, count]));
};

t.test("sends that no transaction has released are released in turns of a hundred people", async (t) => {
  const context = await openSendQueue(t);
  const blocked = await acceptClaimed(context);
  const behind = await accept(context);
  await insertManySends(context, { count: 150, state: "behind" });
  const secondOf = await insertQueued(context, { recipient: "00000001", state: "behind" });
  const last = await releaseMissedSends(context.db, undefined);
  t.match(last, { channel_id: context.channelId, recipient: "00000100" });
  t.match(await countStates(context), { waiting: 100 });
  t.equal(await releaseMissedSends(context.db, last), undefined, "it has come to the end");
  t.match(await countStates(context), { waiting: 150, behind: 2 });
  t.equal(await releaseMissedSends(context.db, undefined), undefined);
  t.same(await readStates(context, blocked, behind, { id: secondOf }), ["claimed", "behind", "behind"]);
});

t.test("what the check of `behind` sends reads does not grow with their number", async (t) => {
  const context = await openSendQueue(t);
  await disableAutovacuum(context.db, ["sends"]);
  const count = () => countRowsOfPlans(context, (db) => releaseMissedSends(db, undefined));
  await insertManySends(context, { count: 2_000, state: "behind" });
  const few = await count();
  const channelId = await makeChannel(context, { id: context.clientId });
  await insertManySends({ ...context, channelId }, { count: 48_000, state: "behind" });
  const many = await count();
  t.ok(many.custom < 2 * few.custom, `${few.custom} and ${many.custom} rows`);
  t.ok(many.generic < 2 * few.generic, `${few.generic} and ${many.generic} rows of the kept plan`);
  await releaseMissedSends(context.db, undefined);
  t.match(await countStates(context), { waiting: 100, behind: 49_900 });
});
