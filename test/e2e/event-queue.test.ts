import t from "tap";
import { startRedis } from "../../src/local/redis.ts";
import { HOUR, MINUTE } from "../../src/runtime/durations.ts";
import { insertEvents } from "../../src/store/events/insert-events.ts";
import { insertBacklog } from "../fixtures/events/backlog.ts";
import { BREAKERS_KEY, untilBreakersRead } from "../fixtures/events/breakers.ts";
import { answerWith, type ClientBackend, startClientWithBackend } from "../fixtures/events/client-backend.ts";
import { createTestNotifier, queueEvents, times } from "../fixtures/events/deliveries.ts";
import { makeEvents, newEvent } from "../fixtures/events/events.ts";
import { withoutRetries } from "../fixtures/events/queue-rows.ts";
import { type RunningDispatcher, startDispatcher } from "../fixtures/processes/dispatcher.ts";
import { makeTempFolder } from "../fixtures/servers/folders.ts";
import { redisProgram } from "../fixtures/servers/programs.ts";
import { connectRawClient } from "../fixtures/servers/servers.ts";
import { until } from "../fixtures/until.ts";

/** Only rows wait: what Redis holds may be lost at any time. */

const emptyDrafts = (count: number) => times(count, () => ({}));

const receivedIds = ({ received }: ClientBackend): string[] => received.map(({ id }) => id).sort();

const untilReceived = (backend: ClientBackend, ids: readonly string[]) =>
  until(`${ids.length} events arrive`, () => {
    const received = new Set(receivedIds(backend));
    return ids.every((id) => received.has(id));
  });

/** Deliveries that this dispatcher has claimed, by what told it of the client. */
async function claimedBy({ metrics }: RunningDispatcher): Promise<Record<string, number>> {
  const { values } = await metrics.claimedDeliveries.get();
  return Object.fromEntries(values.map(({ labels, value }) => [labels.found_by, value]));
}

t.test("events are delivered once while Redis is stopped, and by wake-ups when it is back", async (t) => {
  const folder = makeTempFolder(t);
  const start = (port?: number) =>
    startRedis({ program: redisProgram(), folder, durable: false, ...(port ? { port } : {}) });
  let redis = await start();
  t.teardown(() => redis.stop());
  const settings = { REDIS_URL: redis.url };
  const first = await startDispatcher(t, { settings });
  const second = await startDispatcher(t, { config: first.config });
  const { backend, client } = await startClientWithBackend(t, first);
  const ids = [...(await queueEvents(first, client, {}))];
  await untilReceived(backend, ids);
  process.kill(redis.pid, "SIGKILL");
  await redis.stop();
  for (let round = 0; round < 20; round += 1) {
    ids.push(...(await makeEvents(first, client, ...emptyDrafts(10))));
    if (round % 5 === 0) await untilReceived(backend, ids);
  }
  await untilReceived(backend, ids);
  redis = await start(Number(new URL(redis.url).port));
  const wakeUpClaims = async () => {
    const counts = await Promise.all([first, second].map(claimedBy));
    return counts.reduce((sum, { wake_up = 0 }) => sum + wake_up, 0);
  };
  const before = await wakeUpClaims();
  await until("a wake-up finds events again", async () => {
    ids.push(...(await queueEvents(first, client, {})));
    await untilReceived(backend, ids);
    return (await wakeUpClaims()) > before;
  });
  t.same(receivedIds(backend), ids.sort(), "each event arrives once");
});

t.test("the rows of one dispatcher", async (t) => {
  const dispatcher = await startDispatcher(t, {
    settings: { DISPATCHER_CONCURRENCY: "20" },
    deadline: 10 * MINUTE, // a call ends only when its backend answers
  });

  t.test("events whose wake-ups are lost are found by the poll", async (t) => {
    const { backend, client } = await startClientWithBackend(t, dispatcher);
    const ids: string[] = [];
    for (let round = 0; round < 30; round += 1) {
      ids.push(...(await queueEvents(dispatcher, client, {})));
      await dispatcher.redis.del("{18}:events");
    }
    await untilReceived(backend, ids);
    t.same(receivedIds(backend), ids.sort(), "each event arrives once");
  });

  t.test("an event that is committed late is delivered after later ones", async (t) => {
    const { backend, client } = await startClientWithBackend(t, dispatcher);
    const raw = await connectRawClient(t, dispatcher.config.DATABASE_URL);
    await raw.query("begin");
    const late = newEvent(client, Date.now());
    await insertEvents(withoutRetries(raw), [late]);
    const ids = await queueEvents(dispatcher, client, ...emptyDrafts(5));
    await untilReceived(backend, ids);
    t.notOk(receivedIds(backend).includes(late.id));
    await raw.query("commit");
    createTestNotifier(dispatcher).notify([client.id]);
    await untilReceived(backend, [...ids, late.id]);
    t.equal(backend.received.length, 6);
  });

  t.test("while a breaker is open no row is written, and a probe claims one", async (t) => {
    const { backend, client } = await startClientWithBackend(t, dispatcher);
    const openBreakerUntil = async (time: number) => {
      const breaker = { origin: backend.url, until: time, failedProbes: 0 };
      await dispatcher.redis.hset(BREAKERS_KEY, client.id, JSON.stringify(breaker));
    };
    await openBreakerUntil(Date.now() + HOUR);
    await untilBreakersRead(dispatcher);
    await insertBacklog(dispatcher.db, client.id, 10_000);
    const readRows = () =>
      dispatcher.db.query<{ written: string; claimed: number }>(
        `select
          md5(string_agg(xmin::text || ctid::text, ',' order by id)) as written,
          count(worker_id)::integer as claimed
        from delivery_queue
        where client_id = $1`,
        [client.id],
      );
    const [before] = await readRows();
    const other = await startClientWithBackend(t, dispatcher);
    for (let round = 0; round < 3; round += 1) {
      const ids = await makeEvents(dispatcher, other.client, {}); // found by the poll, which sees the backlog too
      await untilReceived(other.backend, ids);
    }
    t.same(await readRows(), [before], "no row is written");
    t.equal(backend.received.length, 0);
    backend.pauseAnswers();
    await openBreakerUntil(Date.now());
    await until("one call probes the backend", () => backend.openRequests() === 1);
    const [{ claimed } = { claimed: 0 }] = await readRows();
    t.equal(claimed, 1);
    await dispatcher.db.query("delete from delivery_queue where client_id = $1 and worker_id is null", [
      client.id,
    ]);
    backend.answer = answerWith(200);
    backend.release();
  });

  t.test("a backlog and a client that hangs delay no other client", async (t) => {
    const [busy, hanging] = [
      await startClientWithBackend(t, dispatcher),
      await startClientWithBackend(t, dispatcher),
    ];
    hanging.backend.pauseAnswers();
    await queueEvents(dispatcher, hanging.client, ...emptyDrafts(30));
    await until("the client hangs", () => hanging.backend.openRequests() > 0);
    const count = 20_000;
    await insertBacklog(dispatcher.db, busy.client.id, count);
    await until("the backlog is being delivered", () => busy.backend.received.length > 20);
    const others = await Promise.all(times(10, () => startClientWithBackend(t, dispatcher)));
    for (let round = 0; round < 5; round += 1)
      await Promise.all(
        others.map(async ({ backend, client }) =>
          untilReceived(backend, await queueEvents(dispatcher, client, {})),
        ),
      );
    t.ok(busy.backend.received.length < count, "the backlog still waits");
    await dispatcher.db.query("delete from delivery_queue where worker_id is null");
    hanging.backend.answer = answerWith(200);
    hanging.backend.release();
  });
});
