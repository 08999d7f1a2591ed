import type { Test } from "tap";
import t from "tap";
import { readConfig } from "../../../src/runtime/config/config.ts";
import { MINUTE } from "../../../src/runtime/durations.ts";
import { createDatabase } from "../../../src/store/database/database.ts";
import { MAX_DEATHS, SUSPECT_DEATHS } from "../../../src/store/processes/workers.ts";
import { createDeliveryRecovery } from "../../../workers/dispatcher/delivering/deliveries.ts";
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
import { startApi } from "../../fixtures/http/api.ts";
import { startDispatcher } from "../../fixtures/processes/dispatcher.ts";
import { startProcess } from "../../fixtures/processes/processes.ts";
import { testSettings } from "../../fixtures/processes/settings.ts";
import { makeTenant } from "../../fixtures/tenants/tenants.ts";
import { until } from "../../fixtures/until.ts";

/** Clients whose backend leaves events unanswered, dispatchers that the test kills, and a recovery without their waits. */
async function openCluster(t: Test) {
  const settings = await testSettings(t, { PRIVATE_DESTINATIONS: "127.0.0.0/8" });
  const config = readConfig(settings);
  const db = createDatabase(config, () => {});
  t.teardown(() => db.close());
  const backend = await startClientBackend(t);
  /** How many requests with each event stay unanswered. */
  const unanswered = new Map<string, number>();
  backend.answer = (response, { id }) => {
    const left = unanswered.get(id) ?? 0;
    unanswered.set(id, left - 1);
    if (left <= 0) response.end();
  };
  const quarantined: unknown[] = [];
  const recover = createDeliveryRecovery({
    db,
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
      await db.query(`update delivery_queue set claimed_at = ${longAgo} where worker_id = $1`, [worker]);
    };
    return { worker, kill };
  }

  const listInFlight = async () => {
    const rows = await db.query<{ id: string; deaths: number }>(
      "select id, deaths from delivery_queue where worker_id is not null",
    );
    return new Map(rows.map(({ id, deaths }) => [id, deaths]));
  };
  return { config, db, backend, quarantined, recover, makeEvent, startDispatcher, listInFlight };
}

t.test("an event that kills each of its dispatchers is quarantined, and no other event is", async (t) => {
  const cluster = await openCluster(t);
  const { db, config, backend, makeEvent, listInFlight } = cluster;
  const arrivals = (id: string) => backend.received.filter((event) => event.id === id);
  const setDeaths = (events: readonly { id: string }[], deaths: number) =>
    db.query("update delivery_queue set deaths = $1 where id = any($2)", [
      deaths,
      events.map(({ id }) => id),
    ]);
  const poison = await makeEvent(2);
  /** Events of other clients that are in flight beside the poisonous one when its dispatcher dies. */
  const others = [await makeEvent(1), await makeEvent(1)];
  /** Kills a dispatcher that has the poisonous event and these in flight; returns the suspects in flight. */
  const killDispatcher = async (neighbours: typeof others, deaths: number) => {
    const before = arrivals(poison.id).length;
    const [dispatcher] = await Promise.all([cluster.startDispatcher(), cluster.recover()]);
    await until("the event arrives", () => arrivals(poison.id).length > before);
    await until("its neighbours arrive", () => neighbours.every(({ id }) => arrivals(id).length === 1));
    const inFlight = await listInFlight();
    await dispatcher.kill();
    await until(`death ${deaths} is counted`, async () => {
      await cluster.recover();
      const row = await readDelivery({ db }, poison.id);
      return deaths === MAX_DEATHS ? row.state === "failed" : row.deaths === deaths;
    });
    return [...inFlight].filter(([, count]) => count >= SUSPECT_DEATHS).map(([id]) => id);
  };

  await setDeaths([poison, ...others], SUSPECT_DEATHS - 1); // as if earlier dispatchers had died with them
  t.same(await killDispatcher(others, SUSPECT_DEATHS), [], "no suspect is in flight");
  await setDeaths([poison], MAX_DEATHS - 1); // as if it had killed more dispatchers alone
  const neighbours = [await makeEvent(1), await makeEvent(1)];
  t.same(await killDispatcher(neighbours, MAX_DEATHS), [poison.id], "one suspect is in flight");

  t.same(cluster.quarantined, [{ clientId: poison.client.id, id: poison.id, deaths: MAX_DEATHS }]);
  const failed = { state: "failed", last_error: "quarantined", next_attempt_at: null };
  t.match(await readDelivery({ db }, poison.id), { ...failed, attempts: 0, is_queued: false });
  t.same(await readAttempts({ db }, poison.id), []);
  const attemptNumbers = arrivals(poison.id).map(({ headers }) => headers["x-webhook-attempt"]);
  t.same(attemptNumbers, ["1", "1"], "no attempt is used up");

  await startDispatcher(t, { config });
  for (const { id } of [...others, ...neighbours]) {
    await untilDelivery({ db }, id, { state: "delivered", attempts: 1, is_queued: false });
    t.equal((await readAttempts({ db }, id)).length, 1);
  }
  t.equal(arrivals(poison.id).length, 2, "a quarantined event is not delivered");

  const api = await startApi(t, { config });
  const { headers } = await poison.client.createKey("webhooks:manage");
  const event = `/api/webhooks/events/${poison.id}`;
  const { body } = await api.call("GET", event, { headers });
  t.match(body, { status: "failed", last_error: "quarantined", attempts: 0, delivery_attempts: [] });
  t.match(await api.call("POST", `${event}/retry`, { headers }), {
    status: 202,
    body: { redispatched: true },
  });
  await untilDelivery({ db }, poison.id, { state: "delivered", attempts: 1 });
});
