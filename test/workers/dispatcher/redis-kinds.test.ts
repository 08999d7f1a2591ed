import t, { type Test } from "tap";
import { recordEvents } from "../../../src/domain/events/record-events.ts";
import { createQueueNotifier } from "../../../src/queue/queue-notifier.ts";
import { createStreams, GROUP } from "../../../src/queue/streams.ts";
import type { Fields } from "../../../src/runtime/logging/log.ts";
import { unmarkQueued } from "../../../src/store/events/sweep-deliveries.ts";
import { captureLog } from "../../fixtures/captured-log.ts";
import { startBackend } from "../../fixtures/events/backends.ts";
import { configureWebhook, updateDelivery } from "../../fixtures/events/events.ts";
import {
  insertClientWithLastByte,
  insertDueDeliveries,
  secondsFromNow,
} from "../../fixtures/events/queue-rows.ts";
import { startDispatcher } from "../../fixtures/processes/dispatcher.ts";
import { startRedisCluster } from "../../fixtures/servers/redis.ts";
import { allocateRedisDatabase } from "../../fixtures/servers/servers.ts";
import { until } from "../../fixtures/until.ts";

/** A dispatcher, and clients in several partitions with one backend. */
async function start(t: Test, REDIS_URL: string, partitions: number) {
  const warnings: string[] = [];
  const onWarning = ({ name }: Error) => void warnings.push(name);
  process.on("warning", onWarning);
  t.teardown(() => process.off("warning", onWarning));
  const deliveredIds: string[] = [];
  const backend = await startBackend(t, (request, response) => {
    deliveredIds.push(request.headers["webhook-id"] as string);
    request.resume().on("end", () => response.end());
  });
  const running = await startDispatcher(t, { settings: { REDIS_URL } });
  const { db, redis, lines } = running;
  const clients: string[] = [];
  for (let byte = 0; byte < 10; byte++) {
    const id = await insertClientWithLastByte(db, byte);
    await configureWebhook({ db }, { id }, { url: backend.url });
    clients.push(id);
  }
  const streams = createStreams(redis, partitions);
  const notifier = createQueueNotifier({
    redis,
    streams,
    lane: "events",
    unmarkQueued: (refs) => unmarkQueued(db, refs),
    readIsHeld: async () => false,
    log: captureLog().log,
  });
  await notifier.start?.({ fail: (error) => t.fail(String(error)) });
  t.teardown(() => notifier.close?.());
  const recordForAll = () =>
    recordEvents(
      db,
      clients.map((clientId) => ({
        clientId,
        type: "platform.event",
        key: "chatapp",
        data: { field: "x", value: 1 },
      })),
      notifier,
    ) as Promise<string[]>;
  const untilDelivered = (ids: readonly string[]) =>
    until("all are delivered", () => ids.every((id) => deliveredIds.includes(id)));
  // On a busy machine a command may exceed its timeout; the dispatcher repeats it.
  const isTimeout = ({ err }: Fields) => err === "Command timed out";
  const complaints = () =>
    lines.filter((line) => (line.level === "warn" || line.level === "error") && !isTimeout(line));
  return { ...running, streams, clients, recordForAll, untilDelivered, deliveredIds, complaints, warnings };
}

for (const [kind, address, partitions] of [
  ["one Redis", allocateRedisDatabase, 1],
  ["a Redis Cluster", startRedisCluster, 8],
] as const)
  t.test(`a dispatcher with ${kind}`, async (t) => {
    const all = await start(t, await address(t), partitions);
    const { db, redis, streams, clients, recordForAll, untilDelivered, deliveredIds, complaints, warnings } =
      all;

    t.test("notified events are delivered once, and their entries are removed", async (t) => {
      const ids = await recordForAll();
      t.equal(ids.length, 10);
      await untilDelivered(ids);
      const left = async () => Promise.all(streams.all.map(({ key }) => streams.depth(key)));
      await until("the streams are empty", async () => (await left()).every((depth) => depth === 0));
      await until("the outcomes are written", async () => {
        const rows = await db.query("select 1 from deliveries where state = 'delivered' and attempts = 1");
        return rows.length === 10;
      });
      t.equal(deliveredIds.length, 10);
      t.same(complaints(), []);
      t.same(warnings, [], "Node emits no warnings");
    });

    t.test("invalid entries are removed", async (t) => {
      const key = streams.eventStreams[0]?.key as string;
      await redis.xadd(key, "*", "id", "evt_nonsense", "d", "no-client");
      await redis.xadd(key, "*", "something", "else");
      await until("the stream is empty", async () => (await streams.depth(key)) === 0);
      t.match(await redis.xpending(key, GROUP), [0]);
    });

    t.test("deliveries that were queued in a Redis that lost its data are queued again", async (t) => {
      const epoch = await streams.epoch();
      const refs = await insertDueDeliveries({ db, clientId: clients[0] as string }, 3);
      // Queued under the former epoch, and too recently to count as stranded.
      for (const { id } of refs)
        await updateDelivery({ db }, id, { queue_epoch: epoch, enqueued_at: secondsFromNow(3_600) });
      await redis.flushdb();
      await untilDelivered(refs.map(({ id }) => id));
      t.not(await streams.epoch(), epoch);
      await untilDelivered(await recordForAll());
    });
  });
