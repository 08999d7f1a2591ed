import { join } from "node:path";
import t, { type Test } from "tap";
import { startPostgres } from "../../../src/local/postgres.ts";
import { readConfig } from "../../../src/runtime/config/config.ts";
import { createDatabase } from "../../../src/store/database/database.ts";
import { startClientBackend } from "../../fixtures/events/client-backend.ts";
import { tellOne } from "../../fixtures/events/deliveries.ts";
import { configure, deliveryOf, record } from "../../fixtures/events/events.ts";
import { startDispatcher } from "../../fixtures/processes/dispatcher.ts";
import { startProcess } from "../../fixtures/processes/processes.ts";
import { testSettings } from "../../fixtures/processes/settings.ts";
import { openFolder } from "../../fixtures/servers/folders.ts";
import { postgresProgram } from "../../fixtures/servers/programs.ts";
import { makeTenant } from "../../fixtures/tenants/tenants.ts";
import { until } from "../../fixtures/until.ts";

/** A call that never ends, however long one waits. */
async function endWithCallOut(t: Test): Promise<void> {
  const dispatcher = await startDispatcher(t, { deadline: 60_000 });
  const backend = await startClientBackend(t);
  const client = await makeTenant(dispatcher);
  await configure(dispatcher, client, { url: backend.url });
  backend.hold();
  const id = await tellOne(dispatcher, client);
  await until("it is out", () => backend.open() === 1);
  await dispatcher.stop();
  const db = createDatabase(dispatcher.config, () => {});
  t.teardown(() => db.close());
  const row = await deliveryOf({ db }, id);
  t.match(row, { state: "pending", attempts: 0, lease: null, worker_id: null, enqueued_at: null });
  t.ok((row.next_attempt_at as Date).getTime() <= Date.now(), "due at once");
}

/** An answer that cannot be written down. */
async function endWithoutPostgres(t: Test): Promise<void> {
  const folder = join(openFolder(t), "pg");
  const postgres = await startPostgres({ program: postgresProgram(), folder, durable: false });
  t.teardown(() => postgres.stop());
  const own = { DATABASE_URL: postgres.url, PRIVATE_DESTINATIONS: "127.0.0.0/8" };
  const settings = { ...(await testSettings(t)), ...own };
  await startProcess(t, "migrate", settings).line("migrations.applied");
  const dispatcher = startProcess(t, "dispatcher", settings);
  await dispatcher.line("process.ready");
  const config = readConfig(settings);
  const db = createDatabase(config, () => {});
  const backend = await startClientBackend(t);
  const client = await makeTenant({ db, config });
  await configure({ db }, client, { url: backend.url });
  backend.hold();
  await record({ db }, client, {});
  await until("it is out", () => backend.open() === 1);
  await db.close();
  await postgres.stop();
  backend.release();
  await dispatcher.line("finisher.failed");
  const asked = Date.now();
  t.equal(await dispatcher.stop(), 0);
  t.ok(Date.now() - asked < 25_000, "within what platforms grant");
  t.match(await dispatcher.line("finisher.gave_up"), { count: 1 });
}

t.test("a dispatcher ends in time, whatever it waits for", (t) =>
  Promise.all([endWithCallOut(t), endWithoutPostgres(t)]),
);
