import t, { type Test } from "tap";
import { recordEvents } from "../../../src/domain/events/record-events.ts";
import { countUnread, createEventNotifier, taggedKey, tagsOf } from "../../../src/queue/wake-ups.ts";
import type { Fields } from "../../../src/runtime/log.ts";
import { startBackend } from "../../fixtures/events/backends.ts";
import { configureWebhook } from "../../fixtures/events/events.ts";
import { insertClientWithLastByte, insertDueDeliveries } from "../../fixtures/events/queue-rows.ts";
import { startDispatcher } from "../../fixtures/processes/dispatcher.ts";
import { startOneNodeCluster } from "../../fixtures/servers/redis-cluster.ts";
import { allocateRedisDatabase } from "../../fixtures/servers/servers.ts";
import { until } from "../../fixtures/until.ts";

/** A dispatcher, and clients in several partitions with one backend. */
async function start(t: Test, REDIS_URL: string) {
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
  const tags = tagsOf(running.config);
  const notifier = createEventNotifier(redis, tags);
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
  const isTimeout = ({ err }: Fields) => /^(Command timed out|Redis did not answer)/.test(String(err));
  const complaints = () =>
    lines.filter((line) => (line.level === "warn" || line.level === "error") && !isTimeout(line));
  return { ...running, tags, clients, recordForAll, untilDelivered, deliveredIds, complaints, warnings };
}

for (const [kind, address] of [
  ["one Redis", allocateRedisDatabase],
  ["a Redis Cluster", startOneNodeCluster],
] as const)
  t.test(`a dispatcher with ${kind}`, async (t) => {
    const all = await start(t, await address(t));
    const { db, redis, tags, clients, recordForAll, untilDelivered, deliveredIds, complaints, warnings } =
      all;

    t.test("events are delivered once, and their wake-ups are read", async (t) => {
      const ids = await recordForAll();
      t.equal(ids.length, 10);
      await untilDelivered(ids);
      const unread = () => Promise.all(tags.map((tag) => countUnread(redis, taggedKey(tag, "events"))));
      await until("all wake-ups are read", async () => (await unread()).every((count) => count === 0));
      await until("the outcomes are written", async () => {
        const rows = await db.query("select 1 from deliveries where state = 'delivered' and attempts = 1");
        return rows.length === 10;
      });
      t.same(await db.query("select 1 from delivery_queue"), []);
      t.equal(deliveredIds.length, 10);
      t.same(complaints(), []);
      t.same(warnings, [], "Node emits no warnings");
    });

    t.test("invalid wake-ups are ignored", async (t) => {
      const [tag] = tags as [number];
      await redis.xadd(taggedKey(tag, "events"), "*", "k", "no-client");
      await redis.xadd(taggedKey(tag, "events"), "*", "something", "else");
      await until("they are read", async () => (await countUnread(redis, taggedKey(tag, "events"))) === 0);
      t.same(complaints(), []);
    });

    t.test("events are delivered after Redis has lost its data, with or without a wake-up", async (_t) => {
      const refs = await insertDueDeliveries({ db, clientId: clients[0] as string }, 3);
      await redis.flushdb();
      await untilDelivered(refs.map(({ id }) => id));
      await untilDelivered(await recordForAll());
    });
  });
