import { randomUUID } from "node:crypto";
import t, { type Test } from "tap";
import { createStreams } from "../../../../src/queue/streams.ts";
import { MAX_LEASE_MS } from "../../../../src/runtime/deadlines.ts";
import { HOUR, MINUTE, SECOND } from "../../../../src/runtime/durations.ts";
import { claimSends } from "../../../../src/store/messages/claim-sends.ts";
import { finishSends } from "../../../../src/store/messages/finish-sends.ts";
import { countFailedMessages } from "../../../../src/store/messages/queue-metrics.ts";
import { enqueueSends } from "../../../../src/store/messages/sweep-sends.ts";
import { recordHeartbeat } from "../../../../src/store/processes/workers.ts";
import { type SendSweepParts, sweepSends } from "../../../../workers/dispatcher/sending/sweeper.ts";
import { captureLog } from "../../../fixtures/captured-log.ts";
import { insertDeadWorker } from "../../../fixtures/events/queue-rows.ts";
import { type Api, startApi } from "../../../fixtures/http/api.ts";
import { insertMessage, insertSend, readMessageState } from "../../../fixtures/messages/message-rows.ts";
import { connectRedis } from "../../../fixtures/servers/redis.ts";
import { connectRawClient } from "../../../fixtures/servers/servers.ts";
import { withRepeatedTransactions } from "../../../fixtures/servers/statements.ts";
import { makeChannel } from "../../../fixtures/tenants/channels.ts";
import { makeTenant } from "../../../fixtures/tenants/tenants.ts";

/** A sweep, and the messages that it abandons. */
async function open(t: Test) {
  const api = await startApi(t);
  const tenant = await makeTenant(api);
  const channel_id = await makeChannel(api, tenant);
  await insertDeadWorker(api, "wrk_gone");
  const { log, events } = captureLog();
  const abandoned: [string, unknown][] = [];
  const notified: string[] = [];
  const parts: SendSweepParts = {
    db: withRepeatedTransactions(api.db),
    streams: createStreams(await connectRedis(t), 1),
    notifier: { notify: (clientIds) => void notified.push(...clientIds) },
    log,
    aliveForMs: () => MINUTE,
    unknownTimeoutMs: MINUTE,
    queues: { fullChannels: async () => [] },
    availability: { pausedPlatforms: () => [] },
    onAbandoned: ({ id }, { code }) => void abandoned.push([id, code]),
  };
  const insert = async (columns: Record<string, unknown>) => {
    const id = await insertMessage(api, tenant, { channel_id });
    await insertSend(api, tenant, { id, channel_id, ...columns });
    return id;
  };
  return { api, tenant, channel_id, parts, insert, events, abandoned, notified };
}

/** Columns of a send that a dead dispatcher claimed and did not begin to send. */
const unstarted = () => ({
  state: "in_hand",
  worker_id: "wrk_gone",
  lease: randomUUID(),
  claimed_at: new Date(Date.now() - MINUTE),
});

const readSend = async ({ db }: Pick<Api, "db">, id: string): Promise<Record<string, unknown> | undefined> =>
  (await db.query<Record<string, unknown>>("select * from sends where id = $1", [id]))[0];

t.test("a sweep whose transaction is repeated abandons, logs and notifies once", async (t) => {
  const { api, parts, insert, events, abandoned, notified } = await open(t);
  const expired = await insert({ expires_at: new Date(Date.now() - 1_000) });
  const interrupted = await insert({ ...unstarted(), sending_at: new Date() });
  await sweepSends(parts);
  t.same(abandoned, [[expired, "expired"]]);
  t.same(events(), ["message.interrupted", "sweep.reclaimed"]);
  t.match(await readMessageState(api, expired), { status: "failed", error: { code: "expired" } });
  t.match(await countFailedMessages(api.db, 1 * HOUR), [{ count: 1 }]);
  t.match(await readMessageState(api, interrupted), { status: "unknown" });
  t.equal(new Set(notified).size, notified.length);
  t.equal((await api.db.query("select 1 from events")).length, 3, "two results and one status");
});

t.test(
  "a send counts the death of each dispatcher that did not begin it and fails at the fifth",
  async (t) => {
    const { api, parts, insert, abandoned } = await open(t);
    const [first, last] = [await insert(unstarted()), await insert({ ...unstarted(), deaths: 4 })];
    await sweepSends(parts);
    t.match(await readSend(api, first), { state: "waiting", deaths: 1, attempts: 0, lease: null });
    t.equal(await readSend(api, last), undefined);
    t.match(await readMessageState(api, last), { status: "failed", error: { code: "quarantined" } });
    t.same(abandoned, [[last, "quarantined"]]);
    const events = await api.db.query("select type from events where message_id = $1 order by type", [last]);
    t.same(events, [{ type: "message.send_result" }, { type: "message.status" }]);
  },
);

t.test("a send whose dispatcher did not die but lost the answer to its claim counts no death", async (t) => {
  const { api, parts, insert } = await open(t);
  await recordHeartbeat(api.db, "wrk_alive", "dispatcher");
  const claimed_at = new Date(Date.now() - MAX_LEASE_MS - SECOND);
  const ids = [
    await insert({ ...unstarted(), worker_id: "wrk_alive", claimed_at, deaths: 4 }),
    await insert({ ...unstarted(), worker_id: "wrk_stopped", deaths: 4 }),
  ];
  await sweepSends(parts);
  for (const id of ids) t.match(await readSend(api, id), { state: "waiting", deaths: 4, lease: null });
});

t.test("the sweep queues one suspect at a time, the one that has been due longest first", async (t) => {
  const { api, tenant, channel_id, parts, insert } = await open(t);
  const due = (seconds: number) => ({ deaths: 2, next_attempt_at: new Date(Date.now() - seconds * 1_000) });
  const [second, first] = [await insert(due(1_000)), await insert(due(2_000))];
  const other = await insert({ deaths: 1 });
  const claim = async (...ids: string[]) => {
    const refs = ids.map((id) => ({ clientId: tenant.id, id, channelId: channel_id }));
    const lease = { token: randomUUID(), worker: "wrk_1" };
    return (await claimSends(api.db, refs, lease)).map(({ id }) => id);
  };
  const listQueued = async () => {
    await sweepSends(parts);
    const rows = await api.db.query<{ id: string }>(
      "select id from sends where enqueued_at is not null order by id",
    );
    return rows.map(({ id }) => id);
  };
  t.same(await listQueued(), [first, other].sort());
  t.same(await claim(second), [], "an old stream entry does not start a suspect out of turn");
  t.same(await listQueued(), [first, other].sort(), "the first one is still in the stream");
  t.same((await claim(first, second, other)).sort(), [first, other].sort());
  t.same(await listQueued(), [first, other].sort(), "the first one is in flight");
  await api.db.query("delete from sends where id = $1", [first]);
  t.same(await listQueued(), [second, other].sort());
  await api.db.query("update sends set enqueued_at = now() - interval '1 minute' where id = $1", [second]);
  await listQueued();
  const { enqueued_at } = (await readSend(api, second)) as { enqueued_at: Date };
  t.ok(
    enqueued_at.getTime() > Date.now() - MINUTE / 2,
    "a suspect that no dispatcher claimed is queued again",
  );
});

t.test("a send is not postponed while its channel is being reconnected", async (t) => {
  const { api, channel_id, parts, insert } = await open(t);
  const id = await insert({});
  await api.db.query("update channels set status = 'needs_reauth' where id = $1", [channel_id]);
  const raw = await connectRawClient(t, api.config.DATABASE_URL);
  await raw.query("begin");
  await raw.query("update channels set status = 'connected' where id = $1", [channel_id]);
  const isDue = async () => {
    const { next_attempt_at } = (await readSend(api, id)) as { next_attempt_at: Date };
    return next_attempt_at.getTime() <= Date.now();
  };
  await sweepSends(parts);
  t.ok(await isDue());
  await raw.query("rollback");
  await sweepSends(parts);
  t.notOk(await isDue(), "a send whose channel stays unconnected is postponed");
});

t.test(
  "an interrupted attempt is recorded as unknown, until its dispatcher reports the outcome",
  async (t) => {
    const { api, parts, insert } = await open(t);
    const columns = { ...unstarted(), sending_at: new Date() };
    const id = await insert(columns);
    await sweepSends(parts);
    const readAttempts = async () => {
      const [row] = await api.db.query<{ client_id: string; platform_attempts: unknown }>(
        "select client_id, platform_attempts from messages where id = $1",
        [id],
      );
      return row;
    };
    const interrupted = await readAttempts();
    t.match(interrupted?.platform_attempts, [
      { attempt: 1, outcome: "unknown", at: String, error: /The dispatcher stopped/ },
    ]);
    const attempt = {
      at: new Date().toISOString(),
      outcome: "accepted",
      status_code: 200,
      duration_ms: 9,
      error: null,
    } as const;
    await finishSends(api.db, [
      {
        ...{
          client_id: interrupted?.client_id as string,
          id,
          lease: columns.lease,
          outcome: "accepted",
          attempt,
          steps: [],
        },
        ...{
          parts_sent: 1,
          platform_message_id: "wamid.late",
          caption_message_id: null,
          error: null,
          delay_ms: null,
        },
      },
    ]);
    t.same((await readAttempts())?.platform_attempts, [
      { attempt: 1, at: attempt.at, outcome: "accepted", status_code: 200, duration_ms: 9 },
    ]);
  },
);

t.test(
  "the sweep queues no sends of a full queue or an unreachable platform, and those of others",
  async (t) => {
    const { api, tenant, channel_id, parts, insert } = await open(t);
    const insertOn = async (platform: "chatapp" | "socialapp") => {
      const otherChannel = await makeChannel(api, tenant, { platform });
      const id = await insertMessage(api, tenant, { channel_id: otherChannel });
      await insertSend(api, tenant, { id, channel_id: otherChannel });
      return id;
    };
    const [full, unreachable, other] = [
      await insert({}),
      await insertOn("socialapp"),
      await insertOn("chatapp"),
    ];
    const areQueued = async () => {
      const sends = await Promise.all([full, unreachable, other].map((id) => readSend(api, id)));
      return sends.map((send) => send?.enqueued_at !== null);
    };
    const fullChannels = async () => [channel_id];
    await sweepSends({
      ...parts,
      queues: { fullChannels },
      availability: { pausedPlatforms: () => ["socialapp"] },
    });
    t.same(await areQueued(), [false, false, true]);
    await sweepSends(parts);
    t.same(await areQueued(), [true, true, true]);
  },
);

t.test("a channel with many due sends does not delay those of another channel", async (t) => {
  const { api, tenant, channel_id, insert } = await open(t);
  const hourAgo = { next_attempt_at: new Date(Date.now() - HOUR) };
  for (let count = 0; count < 12; count += 1) await insert(hourAgo);
  const quiet = await makeChannel(api, tenant);
  for (let count = 0; count < 3; count += 1)
    await insertSend(api, tenant, { id: await insertMessage(api, tenant, {}), channel_id: quiet });
  const enqueued = await enqueueSends(api.db, {
    ...{ epoch: "1", strandedAfter: MINUTE, limit: 10, unreachablePlatforms: [] },
    channelIds: [channel_id, quiet],
  });
  const countOf = (id: string) => enqueued.filter(({ channelId }) => channelId === id).length;
  t.same([countOf(channel_id), countOf(quiet)], [5, 3]);
});
