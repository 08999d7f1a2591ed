import t, { type Test } from "tap";
import { createParking } from "../../../src/queue/parking.ts";
import { createStreams } from "../../../src/queue/streams.ts";
import { readConfig } from "../../../src/runtime/config/config.ts";
import { MINUTE } from "../../../src/runtime/durations.ts";
import { createDatabase } from "../../../src/store/database/database.ts";
import { MAX_DEATHS, SUSPECT_DEATHS } from "../../../src/store/processes/deaths.ts";
import { sweepDeliveries } from "../../../workers/dispatcher/delivering/sweeper.ts";
import { captureLog } from "../../fixtures/captured-log.ts";
import { startClientBackend } from "../../fixtures/events/client-backend.ts";
import { untilDelivery } from "../../fixtures/events/deliveries.ts";
import {
  configureWebhook,
  makeEvents,
  RECEIVED_TEXT,
  readAttempts,
  readDelivery,
} from "../../fixtures/events/events.ts";
import { startProcess, startWeb } from "../../fixtures/processes/processes.ts";
import { testSettings } from "../../fixtures/processes/settings.ts";
import { connectRedis } from "../../fixtures/servers/redis.ts";
import { makeTenant } from "../../fixtures/tenants/tenants.ts";
import { until } from "../../fixtures/until.ts";

/** Clients whose backend leaves events unanswered, dispatchers that the test kills, and a sweep without their waits. */
async function openCluster(t: Test) {
  const settings = await testSettings(t, { PRIVATE_DESTINATIONS: "127.0.0.0/8" });
  const config = readConfig(settings);
  const db = createDatabase(config, () => {});
  t.teardown(() => db.close());
  const redis = await connectRedis(t, settings.REDIS_URL as string);
  const backend = await startClientBackend(t);
  /** How many requests with each event stay unanswered. */
  const unanswered = new Map<string, number>();
  backend.answer = (response, { id }) => {
    const left = unanswered.get(id) ?? 0;
    unanswered.set(id, left - 1);
    if (left <= 0) response.end();
  };
  const quarantined: unknown[] = [];
  const sweep = () =>
    sweepDeliveries({
      db,
      streams: createStreams(redis, 1),
      parking: createParking(redis, 1),
      log: captureLog().log,
      aliveForMs: () => MINUTE, // a dispatcher would first have to run for ten seconds
      onQuarantined: (delivery) => void quarantined.push(delivery),
    });

  /** Makes a client with one event whose first `count` requests stay unanswered. */
  async function makeEvent(count: number) {
    const client = await makeTenant({ db, config });
    await configureWebhook({ db }, client, { url: backend.url });
    const [id] = (await makeEvents({ db }, client, RECEIVED_TEXT)) as [string];
    unanswered.set(id, count);
    return { client, id };
  }

  async function startDispatcher() {
    const dispatcher = startProcess(t, "dispatcher", settings);
    const { worker } = await dispatcher.waitForLine("heartbeat.started");
    /** Backdates what the killed dispatcher left, as if ten seconds had passed since its last heartbeat. */
    const kill = async () => {
      await dispatcher.stop("SIGKILL");
      const longAgo = "now() - interval '30 seconds'";
      await db.query(`update workers set heartbeat_at = ${longAgo} where id = $1`, [worker]);
      await db.query(
        `update deliveries set claimed_at = ${longAgo} where state = 'in_flight' and worker_id = $1`,
        [worker],
      );
    };
    return { worker, kill };
  }

  const listInFlight = async () => {
    const rows = await db.query<{ id: string; deaths: number }>(
      "select id, deaths from deliveries where state = 'in_flight'",
    );
    return new Map(rows.map(({ id, deaths }) => [id, deaths]));
  };
  return { settings, db, backend, quarantined, sweep, makeEvent, startDispatcher, listInFlight };
}

t.test("an event that kills each of its dispatchers is quarantined, and no other event is", async (t) => {
  const cluster = await openCluster(t);
  const { db, backend, makeEvent, listInFlight } = cluster;
  const poison = await makeEvent(MAX_DEATHS);
  const arrivals = (id: string) => backend.received.filter((event) => event.id === id);
  /** Events of other clients that are in flight beside the poisonous one when its dispatcher dies. */
  const others = [await makeEvent(SUSPECT_DEATHS), await makeEvent(SUSPECT_DEATHS)];
  let neighbours = others;

  for (let deaths = 1; deaths <= MAX_DEATHS; deaths++) {
    if (deaths === SUSPECT_DEATHS + 1) {
      neighbours = [await makeEvent(SUSPECT_DEATHS), await makeEvent(SUSPECT_DEATHS)];
      others.push(...neighbours);
    }
    const [dispatcher] = await Promise.all([cluster.startDispatcher(), cluster.sweep()]);
    await until(`the event arrives for death ${deaths}`, () => arrivals(poison.id).length === deaths);
    const neighbourArrivals = deaths > SUSPECT_DEATHS ? deaths - SUSPECT_DEATHS : deaths;
    if (deaths < MAX_DEATHS)
      await until("its neighbours arrive", () =>
        neighbours.every(({ id }) => arrivals(id).length === neighbourArrivals),
      );
    const suspects = [...(await listInFlight())]
      .filter(([, count]) => count >= SUSPECT_DEATHS)
      .map(([id]) => id);
    t.same(suspects, deaths > SUSPECT_DEATHS ? [poison.id] : [], "at most one suspect is in flight");
    await dispatcher.kill();
    await until(`death ${deaths} is counted`, async () => {
      await cluster.sweep();
      return (await readDelivery({ db }, poison.id)).deaths === deaths;
    });
  }

  t.same(cluster.quarantined, [{ clientId: poison.client.id, id: poison.id, deaths: MAX_DEATHS }]);
  const failed = { state: "failed", last_error: "quarantined", next_attempt_at: null };
  t.match(await readDelivery({ db }, poison.id), { ...failed, attempts: 0, deaths: MAX_DEATHS });
  t.same(await readAttempts({ db }, poison.id), []);
  const attemptNumbers = arrivals(poison.id).map(({ headers }) => headers["x-webhook-attempt"]);
  t.same(attemptNumbers, ["1", "1", "1", "1", "1"], "no attempt is used up");

  await cluster.startDispatcher();
  for (const { id } of others) {
    await untilDelivery({ db }, id, { state: "delivered", attempts: 1, deaths: SUSPECT_DEATHS });
    t.equal((await readAttempts({ db }, id)).length, 1);
  }
  t.equal(arrivals(poison.id).length, MAX_DEATHS, "a quarantined event is not delivered");

  const web = await startWeb(t, cluster.settings);
  const { headers } = await poison.client.createKey("webhooks:manage");
  const event = `/api/webhooks/events/${poison.id}`;
  const { body } = await web.call("GET", event, { headers });
  t.match(body, { status: "failed", last_error: "quarantined", attempts: 0, delivery_attempts: [] });
  t.match(await web.call("POST", `${event}/retry`, { headers }), {
    status: 202,
    body: { redispatched: true },
  });
  await untilDelivery({ db }, poison.id, { state: "delivered", attempts: 1, deaths: 0 });
});
