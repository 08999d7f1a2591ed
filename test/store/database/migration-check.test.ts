import type { Test } from "tap";
import t from "tap";
import { readConfig } from "../../../src/runtime/config/config.ts";
import { createDatabase, type Database } from "../../../src/store/database/database.ts";
import { DatabaseUnavailable } from "../../../src/store/database/faults.ts";
import { applyMigrations, createMigrationCheck } from "../../../src/store/database/migrations.ts";
import { captureLog } from "../../fixtures/captured-log.ts";
import { unconnectedSettings } from "../../fixtures/processes/settings.ts";
import { cloneDatabase, connectRawClient } from "../../fixtures/servers/servers.ts";
import { until } from "../../fixtures/until.ts";

/** A check that counts its queries. */
function createCountedCheck(t: Test, DATABASE_URL: string) {
  const db = createDatabase(readConfig({ ...unconnectedSettings(), DATABASE_URL }), () => {});
  t.teardown(() => db.close());
  let queries = 0;
  const query: Database["query"] = (...args) => {
    queries += 1;
    return db.query(...args);
  };
  const { log, lines } = captureLog();
  const messages = () => lines.map(({ event, level, files }) => ({ event, level, files }));
  return { check: createMigrationCheck({ query }, log), queries: () => queries, messages };
}

/** Applies the migrations and returns the files of sql/ among them. */
const applyFilesOf = async (url: string) =>
  (await applyMigrations(url)).filter((file) => /^\d{3}_/.test(file));

t.test("an empty database lacks every file of sql/ until they are applied", async (t) => {
  const url = await cloneDatabase(t, "template0");
  const { check, messages } = createCountedCheck(t, url);
  const missing = await check.missing();
  t.same(missing, await applyFilesOf(url));
  await until("all are applied", async () => (await check.missing()).length === 0);
  t.match(messages(), [
    { event: "migrations.missing", level: "warn", files: missing.join(",") },
    { event: "migrations.completed", level: "info" },
  ]);
});

t.test("missing migrations are logged once, and again when they change", async (t) => {
  const url = await cloneDatabase(t);
  const raw = await connectRawClient(t, url);
  await raw.query("create table kept as select * from migrations");
  const keep = (lastId: number) =>
    raw.query(
      `begin; delete from migrations; insert into migrations select * from kept where id <= ${lastId}; commit`,
    );
  await keep(5);
  const { check, queries, messages } = createCountedCheck(t, url);
  await check.start?.({ fail: () => {} });
  await until("it is read three times", async () => (await check.missing()) && queries() >= 3);
  await keep(6);
  await until("a change is logged", async () => (await check.missing()) && messages().length === 2);
  await keep(1_000);
  await until("all are applied", async () => (await check.missing()).length === 0);
  const logged = messages();
  t.match(logged, [
    { event: "migrations.missing", files: /^006_ads\.sql,007_/ },
    { event: "migrations.missing", files: /^007_embed\.sql/ },
    { event: "migrations.completed" },
  ]);
  t.equal(logged.length, 3);
});

t.test("concurrent checks share one query, and queries are a second apart", async (t) => {
  const { check, queries } = createCountedCheck(t, await cloneDatabase(t, "template0"));
  const startedAt = performance.now();
  await Promise.all(Array.from({ length: 50 }, () => check.missing()));
  t.equal(queries(), 1);
  await until("it is read again", async () => (await check.missing()) && queries() === 3);
  t.ok(performance.now() - startedAt >= 2_000);
});

t.test("a migrated database is not asked again", async (t) => {
  const url = await cloneDatabase(t);
  const raw = await connectRawClient(t, url);
  const { check, queries, messages } = createCountedCheck(t, url);
  t.same(await check.missing(), []);
  await raw.query("drop table migrations");
  const { check: later } = createCountedCheck(t, url);
  await until("another check finds them missing", async () => (await later.missing()).length > 0);
  const pauseEndsAt = performance.now() + 1_100;
  await until("more than a second has passed", async () => {
    t.same(await check.missing(), []);
    return performance.now() > pauseEndsAt;
  });
  t.equal(queries(), 1);
  t.same(messages(), []);
});

t.test("a database that is newer than the code lacks nothing", async (t) => {
  const url = await cloneDatabase(t);
  const raw = await connectRawClient(t, url);
  await raw.query("insert into migrations (id, name, hash) values (999, 'later', 'later')");
  t.same(await createCountedCheck(t, url).check.missing(), []);
});

t.test("an unavailable Postgres is an error and does not keep the process from starting", async (t) => {
  const { check, messages } = createCountedCheck(t, unconnectedSettings().DATABASE_URL);
  await t.rejects(check.missing(), DatabaseUnavailable);
  await check.start?.({ fail: () => t.fail("the start failed") });
  t.same(messages(), []);
});
