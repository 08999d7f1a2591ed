import t, { type Test } from "tap";
import { readConfig } from "../../../src/runtime/config/config.ts";
import { createDatabase } from "../../../src/store/database/database.ts";
import { startClientBackend } from "../../fixtures/events/client-backend.ts";
import { queueEvent } from "../../fixtures/events/deliveries.ts";
import { configureWebhook, makeEvents, readDelivery } from "../../fixtures/events/events.ts";
import { startDispatcher } from "../../fixtures/processes/dispatcher.ts";
import { startProcess } from "../../fixtures/processes/processes.ts";
import { testSettings } from "../../fixtures/processes/settings.ts";
import { startTcpProxy } from "../../fixtures/servers/tcp-proxy.ts";
import { makeTenant } from "../../fixtures/tenants/tenants.ts";
import { until } from "../../fixtures/until.ts";

/** Stops a dispatcher with a request that never ends. */
async function stopWithRequestInFlight(t: Test): Promise<void> {
  const dispatcher = await startDispatcher(t, { deadline: 60_000 });
  const backend = await startClientBackend(t);
  const client = await makeTenant(dispatcher);
  await configureWebhook(dispatcher, client, { url: backend.url });
  backend.pauseAnswers();
  const id = await queueEvent(dispatcher, client);
  await until("the request is open", () => backend.openRequests() === 1);
  await dispatcher.stop();
  const db = createDatabase(dispatcher.config, () => {});
  t.teardown(() => db.close());
  const row = await readDelivery({ db }, id);
  t.match(row, { state: "pending", attempts: 0, lease: null, worker_id: null });
  t.ok((row.next_attempt_at as Date).getTime() <= Date.now(), "due immediately");
}

/** Stops a dispatcher with an outcome that cannot be written. */
async function stopWithoutPostgres(t: Test): Promise<void> {
  const settings = await testSettings(t, { PRIVATE_DESTINATIONS: "127.0.0.0/8" });
  const postgres = await startTcpProxy(t, settings.DATABASE_URL as string);
  const dispatcher = startProcess(t, "dispatcher", { ...settings, DATABASE_URL: postgres.url });
  await dispatcher.waitForLine("process.ready");
  const config = readConfig(settings);
  const db = createDatabase(config, () => {});
  t.teardown(() => db.close());
  const backend = await startClientBackend(t);
  const client = await makeTenant({ db, config });
  await configureWebhook({ db }, client, { url: backend.url });
  backend.pauseAnswers();
  await makeEvents({ db }, client, {});
  await until("the request is open", () => backend.openRequests() === 1);
  postgres.stop();
  backend.release();
  await dispatcher.waitForLine("batch_writer.failed");
  t.equal(await dispatcher.stop(), 0, "all its workers are closed within the platforms' shutdown time");
  t.match(await dispatcher.waitForLine("batch_writer.abandoned"), { count: 1 });
}

t.test("a dispatcher stops in time with an open request and with an unwritten outcome", (t) =>
  Promise.all([stopWithRequestInFlight(t), stopWithoutPostgres(t)]),
);
