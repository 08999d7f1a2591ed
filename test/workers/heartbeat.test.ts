import t from "tap";
import { createDatabase } from "../../src/store/database/database.ts";
import { heartbeat } from "../../workers/heartbeat.ts";
import { captureLog } from "../fixtures/captured-log.ts";
import { testConfig } from "../fixtures/processes/settings.ts";
import { until } from "../fixtures/until.ts";

interface Row {
  process: string;
  beaten: boolean;
}

t.test("a worker renews its row while it runs, and removes it on close", async (t) => {
  const db = createDatabase(await testConfig(t), () => {});
  t.teardown(() => db.close());
  const worker = heartbeat({ id: "wrk_1", process: "scheduler", db, log: captureLog().log });
  const rows = () => db.query<Row>("select process, heartbeat_at > started_at as beaten from workers");
  await worker.start?.({ fail: (error) => t.fail(String(error)) });
  t.match(await rows(), [{ process: "scheduler" }]);
  await until("a second heartbeat", async () => (await rows())[0]?.beaten);
  await worker.close?.();
  t.same(await rows(), []);
});

t.test("a failed heartbeat is logged and does not end the process", async (t) => {
  const config = { ...(await testConfig(t)), DATABASE_URL: "postgres://herald@127.0.0.1:1/none" };
  const db = createDatabase(config, () => {});
  t.teardown(() => db.close());
  const { log, events } = captureLog();
  const worker = heartbeat({ id: "wrk_2", process: "dispatcher", db, log });
  await worker.start?.({ fail: (error) => t.fail(String(error)) });
  await worker.close?.();
  t.ok(events().includes("heartbeat.failed"));
});
