import t from "tap";
import { startRedis } from "../../../src/local/redis.ts";
import { readConfig } from "../../../src/runtime/config/config.ts";
import { createDatabase } from "../../../src/store/database/database.ts";
import { makeSocialPages, startReceiver, startTraffic } from "../../fixtures/events/traffic.ts";
import { startDispatcher } from "../../fixtures/processes/dispatcher.ts";
import { startProcess, startWeb } from "../../fixtures/processes/processes.ts";
import { testSettings } from "../../fixtures/processes/settings.ts";
import { makeTempFolder } from "../../fixtures/servers/folders.ts";
import { redisProgram } from "../../fixtures/servers/programs.ts";
import { connectRawClient } from "../../fixtures/servers/servers.ts";
import { compareFigures, rollUp, sumsOf } from "../../fixtures/stats/figures.ts";
import { until } from "../../fixtures/until.ts";

const PAGES = 3;
const SLOTS = 10;
/** The dispatcher starts no call while this many outcomes are unwritten. */
const MAX_UNWRITTEN = 50;
/** What the two killed dispatchers can have in flight; on a quiet machine about one event is delivered twice. */
const MAX_IN_FLIGHT = 2 * (SLOTS + MAX_UNWRITTEN);
/** A breaker opens after five failures in a row. */
const REFUSED_MESSAGES = 5 * PAGES;
/** Messages that flow between two faults. */
const MESSAGES_PER_PHASE = 20;

t.test(
  "no event is lost, only those in flight are delivered twice, and all are counted, when dispatchers, Redis and the backend fail",
  async (t) => {
    const folder = makeTempFolder(t);
    const makeRedis = (port?: number) =>
      startRedis({ program: redisProgram(), folder, durable: false, ...(port ? { port } : {}) });
    let redis = await makeRedis();
    t.teardown(() => redis.stop());
    const overrides = {
      REDIS_URL: redis.url,
      PRIVATE_DESTINATIONS: "127.0.0.0/8",
      DISPATCHER_CONCURRENCY: String(SLOTS),
    };
    const settings = await testSettings(t, overrides);
    const receiver = await startReceiver(t);
    const pages = await makeSocialPages(settings, receiver, PAGES);
    const { address } = await startWeb(t, settings);
    const dispatchers = [
      startProcess(t, "dispatcher", settings),
      startProcess(t, "dispatcher", settings),
    ] as const;
    for (const dispatcher of dispatchers) await dispatcher.waitForLine("process.ready");
    const config = readConfig(settings);
    const db = createDatabase(config, () => {});
    t.teardown(() => db.close());
    /** Kills a dispatcher while calls wait for their answer. */
    const killDispatcher = async (index: 0 | 1) => {
      receiver.holdAnswers();
      await until("calls are open", () => traffic.acknowledged.some(receiver.isHeld));
      await dispatchers[index].stop("SIGKILL");
      receiver.releaseAnswers();
    };

    const traffic = startTraffic({
      nextAddress: () => address,
      pages,
      perSecond: 20,
      messagesPerWebhook: 4,
    });
    const untilMore = (what: string, count: () => number) => {
      const before = count();
      return until(`more messages are ${what}`, () => count() >= before + MESSAGES_PER_PHASE);
    };
    const untilMoreAcknowledged = () => untilMore("acknowledged", () => traffic.acknowledged.length);
    const untilMoreDelivered = () => untilMore("delivered", () => receiver.deliveryCounts.size);

    await untilMoreDelivered();
    await killDispatcher(0);
    await startDispatcher(t, { config });
    await untilMoreDelivered();
    receiver.status = 503;
    await Promise.all([
      rollUp({ db, config }),
      until("the breakers are open", () => receiver.refusedCount() >= REFUSED_MESSAGES),
    ]);
    receiver.status = 200;
    await untilMoreAcknowledged();
    await rollUp({ db, config });
    process.kill(redis.pid, "SIGKILL");
    await redis.stop();
    redis = await makeRedis(Number(new URL(redis.url).port));
    await untilMoreDelivered();
    await killDispatcher(1);
    await untilMoreAcknowledged();
    await traffic.stop();

    const raw = await connectRawClient(t, settings.DATABASE_URL as string);
    const recorded = await raw.query(
      "select payload::json -> 'data' ->> 'platform_message_id' as mid from events",
    );
    const messages = recorded.rows.map(({ mid }) => mid);
    t.same(
      [...messages].sort(),
      [...traffic.acknowledged].sort(),
      "each acknowledged message is recorded once",
    );
    /** A slow machine makes more attempts while the backend fails: no retry waits for the longer delays of the schedule. */
    const hastenRetries = () =>
      db.query(
        `update delivery_queue
        set due_at = now()
        where worker_id is null
        and due_at > now() + interval '10 seconds'`,
      );
    await until("all events are delivered", async () => {
      await hastenRetries();
      return messages.every((message) => receiver.deliveryCounts.has(message));
    });
    const duplicates = messages.filter((mid) => (receiver.deliveryCounts.get(mid) ?? 0) > 1);
    t.ok(duplicates.length <= MAX_IN_FLIGHT, `${duplicates.length} were delivered twice`);
    const states = "select state, count(*)::integer as count from deliveries group by state";
    await until("all outcomes are written", async () => {
      const { rows } = await raw.query(states);
      return rows.length === 1 && rows[0].state === "delivered";
    });
    await Promise.all([rollUp({ db, config }), rollUp({ db, config })]);
    const { stored, counted } = await compareFigures({ db });
    t.same(stored.events, counted.events, "the statistics of each hour and key count all rows");
    for (const { accepted, sum } of sumsOf(stored.events)) t.equal(accepted, sum);
  },
);
