import { join } from "node:path";
import t from "tap";
import { startPostgres } from "../../../src/local/postgres.ts";
import { startRedis } from "../../../src/local/redis.ts";
import { freePort } from "../../../src/local/server-process.ts";
import { applyMigrations } from "../../../src/store/database/migrations.ts";
import { makeSocialPages, startReceiver, startTraffic, type Traffic } from "../../fixtures/events/traffic.ts";
import { type RunningProcess, startProcess, startWeb } from "../../fixtures/processes/processes.ts";
import { testSettings } from "../../fixtures/processes/settings.ts";
import { makeTempFolder } from "../../fixtures/servers/folders.ts";
import { untilAnyBlocked } from "../../fixtures/servers/lock-waits.ts";
import { postgresProgram, redisProgram } from "../../fixtures/servers/programs.ts";
import { connectRawClient } from "../../fixtures/servers/servers.ts";
import { until } from "../../fixtures/until.ts";

/** chaos.test.ts stops Redis during traffic; here it is frozen. */
t.test("web, Postgres and Redis can fail: the processes recover, and no webhook is lost", async (t) => {
  const folder = makeTempFolder(t);
  // Commits are synchronous, because the test checks which rows survive a crash of the server.
  const makePostgres = (port?: number) =>
    startPostgres({
      program: postgresProgram(),
      folder: join(folder, "pg"),
      durable: false,
      settings: ["synchronous_commit=on"],
      ...(port ? { port } : {}),
    });
  let postgres = await makePostgres();
  const redis = await startRedis({ program: redisProgram(), folder: join(folder, "redis"), durable: false });
  t.teardown(() => Promise.all([postgres.stop(), redis.stop()]));

  const overrides = {
    PORT: String(await freePort()),
    DATABASE_URL: postgres.url,
    REDIS_URL: redis.url,
    PRIVATE_DESTINATIONS: "127.0.0.0/8",
  };
  const settings = { ...(await testSettings(t)), ...overrides };
  await applyMigrations(postgres.url);
  let web = await startWeb(t, settings);
  const dispatchers = [
    startProcess(t, "dispatcher", settings),
    startProcess(t, "dispatcher", settings),
  ] as const;
  for (const dispatcher of dispatchers) await dispatcher.waitForLine("process.ready");
  const readiness = async () => {
    const { status, body } = await web.call("GET", "/readyz");
    return `${status} ${body.status}`;
  };
  const untilReadiness = (expected: string) => until(expected, async () => (await readiness()) === expected);
  await untilReadiness("200 ready");
  const receiver = await startReceiver(t);
  const pages = await makeSocialPages(settings, receiver, 3);
  /** Waits for any message that is acknowledged from now on: on a loaded machine, the latest is never the one that arrived. */
  const untilNextArrives = (description: string, { acknowledged }: { acknowledged: readonly string[] }) => {
    const before = acknowledged.length;
    return until(description, () => acknowledged.slice(before).some((id) => receiver.deliveryCounts.has(id)));
  };
  /** Causes an outage during traffic; asserts that all events are delivered. */
  const withTraffic = async (name: string, causeOutage: (traffic: Traffic) => Promise<void>) => {
    const traffic = startTraffic({
      nextAddress: () => web.address,
      pages,
      perSecond: 10,
      messagesPerWebhook: 2,
      name,
    });
    await until("the first events arrive", () => receiver.deliveryCounts.has(`${name}_1_1`));
    await causeOutage(traffic);
    await untilNextArrives("events arrive again", traffic);
    await traffic.stop();
    const missing = () => traffic.acknowledged.filter((message) => !receiver.deliveryCounts.has(message));
    await until(`all events are delivered (${name})`, () => missing().length === 0);
    t.pass(name);
    received.push(...traffic.acknowledged);
  };
  const received: string[] = [];
  /** Holds the webhooks in Postgres: they are recorded, but not answered, if web is killed before the release. */
  const holdWebhooks = async () => {
    const locker = await connectRawClient(t, postgres.url);
    await locker.query("begin");
    await locker.query("lock table events in exclusive mode");
    await untilAnyBlocked(locker);
    return () => locker.query("rollback");
  };

  await withTraffic("web", async () => {
    const release = await holdWebhooks();
    await web.stop("SIGKILL");
    await release();
    web = await startWeb(t, settings);
  });

  await withTraffic("postgres", async () => {
    await holdWebhooks();
    process.kill(postgres.pid, "SIGQUIT");
    await postgres.stop();
    await untilReadiness("503 unavailable");
    await dispatchers[0].waitForLine("heartbeat.failed");
    t.equal((await web.call("GET", "/healthz")).status, 200, "the process is alive");
    const processes = [web, ...dispatchers];
    for (const { waitForLine } of processes) await waitForLine("postgres.failed");
    const returnsAt = new Date().toISOString();
    t.same(
      processes.flatMap((one) =>
        one
          .lines()
          .filter(({ event, time }) => /\.recovered$/.test(String(event)) && String(time) < returnsAt)
          .map(({ event }) => event),
      ),
      [],
      "nothing is reported as recovered before Postgres returns",
    );
    postgres = await makePostgres(Number(new URL(postgres.url).port));
    await untilReadiness("200 ready");
    for (const { waitForLine } of processes) await waitForLine("postgres.recovered");
  });

  const resume = () => void process.kill(redis.pid, "SIGCONT");
  t.teardown(resume); // a failed test must not leave a frozen server, which cannot be stopped
  /** True from the first failed read of the event stream until a read succeeds. */
  const hasNoStream = (dispatcher: RunningProcess) =>
    dispatcher
      .lines()
      .findLast(({ event, lane }) => String(event).startsWith("stream_reader.") && lane === "events")
      ?.event === "stream_reader.failed";
  await withTraffic("frozen", async ({ acknowledged }) => {
    process.kill(redis.pid, "SIGSTOP");
    await untilReadiness("200 degraded"); // a hanging Redis counts as unavailable
    const before = acknowledged.length;
    await until("webhooks are accepted without Redis", () => acknowledged.length > before + 4);
    await until("the dispatchers notice that their reads hang", () => dispatchers.every(hasNoStream));
    t.equal((await web.call("GET", "/api/channels")).status, 401, "the API still answers");
    resume();
    await untilReadiness("200 ready");
  });

  const raw = await connectRawClient(t, postgres.url);
  const { worker } = await dispatchers[0].waitForLine("heartbeat.started");
  /** True when a call of the first dispatcher waits for its answer. */
  const hasOpenCall = async () => {
    const { rows } = await raw.query(
      `select e.payload::json -> 'data' ->> 'platform_message_id' as message
      from delivery_queue d
      join events e using (client_id, id)
      where d.worker_id = $1`,
      [worker],
    );
    return rows.some(({ message }) => receiver.isHeld(message));
  };
  const traffic = startTraffic({
    nextAddress: () => web.address,
    pages,
    perSecond: 10,
    messagesPerWebhook: 2,
    name: "stopped",
  });
  receiver.holdAnswers();
  await until("a call is open", hasOpenCall);
  const stopRequestedAt = Date.now();
  const stopped = dispatchers[0].stop();
  await dispatchers[0].waitForLine("process.stopping"); // it counts the calls in the same turn of its event loop
  receiver.releaseAnswers();
  t.equal(await stopped, 0);
  t.ok(Date.now() - stopRequestedAt < 25_000, "within the platforms' shutdown time");
  const { in_flight } = await dispatchers[0].waitForLine("dispatcher.drained");
  t.ok(Number(in_flight) > 0, "stopped with deliveries in flight");
  await untilNextArrives("the other dispatcher continues", traffic);
  await traffic.stop();
  const acknowledged = traffic.acknowledged;
  await until("all events are delivered", () =>
    acknowledged.every((message) => receiver.deliveryCounts.has(message)),
  );
  t.same(
    acknowledged.filter((message) => receiver.deliveryCounts.get(message) !== 1),
    [],
    "each is delivered once",
  );
  const unexpectedRowsQuery = `
    select d.state, d.attempts, count(a.attempt)::integer as written, count(*)::integer as count
    from events e
    join deliveries d using (client_id, id)
    left join attempts a using (client_id, id)
    where e.payload like '%"stopped\\_%'
    group by d.state, d.attempts, d.id
    having d.state <> 'delivered' or d.attempts <> 1 or count(a.attempt) <> 1`;
  await until(
    "each attempt is recorded once",
    async () => (await raw.query(unexpectedRowsQuery)).rows.length === 0,
  );
  const { rows } = await raw.query(
    "select payload::json -> 'data' ->> 'platform_message_id' as message from events join deliveries using (client_id, id)",
  );
  t.same(
    rows.map(({ message }) => message).sort(),
    [...received, ...acknowledged].sort(),
    "each webhook that was answered with 200 is recorded once",
  );

  t.equal(await web.stop(), 0);
  t.equal(await dispatchers[1].stop(), 0);
});
