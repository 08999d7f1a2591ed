import { chmodSync, chownSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import t, { type Test } from "tap";
import { serverAccount } from "../../../src/local/postgres.ts";
import { freePort, isResponding, startServer } from "../../../src/local/server-process.ts";
import type { Fields } from "../../../src/runtime/log.ts";
import { createDatabase } from "../../../src/store/database/database.ts";
import { createClient, findClient } from "../../../src/store/tenants/clients.ts";
import { startProcess, startWeb } from "../../fixtures/processes/processes.ts";
import { testSettings } from "../../fixtures/processes/settings.ts";
import { makeTempFolder } from "../../fixtures/servers/folders.ts";
import { pgbouncerProgram } from "../../fixtures/servers/programs.ts";
import { cloneDatabase, connectRawClient } from "../../fixtures/servers/servers.ts";
import { until } from "../../fixtures/until.ts";

/** Starts PgBouncer in transaction mode in front of a database, with few server connections. */
async function startPooler(t: Test, databaseUrl: string): Promise<string> {
  const program = pgbouncerProgram();
  const [folder, port, direct] = [makeTempFolder(t), await freePort(), new URL(databaseUrl)];
  const name = direct.pathname.slice(1);
  const target = `host=127.0.0.1 port=${direct.port} dbname=${name} user=herald password=${direct.password}`;
  const file = join(folder, "pgbouncer.ini");
  const settings = [
    "[databases]",
    `${name} = ${target}`,
    "[pgbouncer]",
    "listen_addr = 127.0.0.1",
    `listen_port = ${port}`,
    "unix_socket_dir =",
    "auth_type = any",
    "pool_mode = transaction",
    "default_pool_size = 3",
    "max_client_conn = 100",
  ];
  writeFileSync(file, settings.join("\n"));
  chmodSync(file, 0o600);
  const account = serverAccount();
  if (account) chownSync(file, account.uid, account.gid);
  const command = { program, args: [file], folder, account, stopSignal: "SIGTERM" as const };
  const startup = Buffer.from("\0\0\0\x08\x04\xd2\x16\x2f", "latin1"); // a TLS request, which is answered before any login
  const pooler = await startServer(command, () => isResponding(port, startup, (answer) => answer.length > 0));
  t.teardown(() => pooler.stop());
  return `postgres://herald@127.0.0.1:${port}/${name}`;
}

/** On a busy machine a tick may overlap the next, and an answer may come after a timeout. */
const isUnexpected = ({ level, outcome, err }: Fields) =>
  level !== "info" && outcome !== "overlapped" && !/timed out|in time|timeout/i.test(String(err));

t.test("Herald behind a pooler in transaction mode", async (t) => {
  const DATABASE_DIRECT_URL = await cloneDatabase(t, "template0");
  const DATABASE_URL = await startPooler(t, DATABASE_DIRECT_URL);
  const overrides = {
    DATABASE_URL,
    DATABASE_DIRECT_URL,
    DATABASE_PREPARED: "false",
    CRON_MAINTENANCE: "* * * * * *",
  };
  const settings = await testSettings(t, overrides);

  t.test("migrations use the direct connection", async (t) => {
    const migrate = startProcess(t, "migrate", settings);
    t.match(await migrate.waitForLine("migrations.applied"), { count: Number });
    t.equal(await migrate.ended(), 0);
  });

  t.test("statements and transactions of many connections share few server connections", async (t) => {
    const db = createDatabase({ DATABASE_URL, DATABASE_POOL: 20, DATABASE_PREPARED: false }, () => {});
    t.teardown(() => db.close());
    // Few enough for a slow machine: a transaction waits 5 s at most for one of the 20 connections.
    const names = Array.from({ length: 60 }, (_, index) => `client ${index}`);
    const created = await Promise.all(names.map((name) => db.transaction((tx) => createClient(tx, name))));
    const found = await Promise.all(created.map((client) => findClient(db, client.id)));
    t.same(
      found.map((client) => client?.name),
      names,
    );
  });

  t.test("a statement that is given up ends in Postgres, and the pooler goes on", async (t) => {
    const db = createDatabase({ DATABASE_URL, DATABASE_POOL: 2, DATABASE_PREPARED: false }, () => {}, {
      statementTimeoutMs: 1_000,
    });
    t.teardown(() => db.close());
    const direct = await connectRawClient(t, DATABASE_DIRECT_URL);
    for (const attempt of [1, 2]) {
      await t.rejects(db.query("select pg_sleep(300)"), /query read timeout/i, `attempt ${attempt}`);
      await until("the statement ends", async () => {
        const { rows } = await direct.query(
          "select from pg_stat_activity where state = 'active' and query like '%pg_sleep(300)%' and pid <> pg_backend_pid()",
        );
        return rows.length === 0;
      });
    }
    const patient = createDatabase({ DATABASE_URL, DATABASE_POOL: 1, DATABASE_PREPARED: false }, () => {});
    t.teardown(() => patient.close());
    t.same(await patient.query("select 1 as one"), [{ one: 1 }]);
  });

  t.test("the processes run without warnings and stop cleanly", async (t) => {
    const web = await startWeb(t, settings);
    await until("ready", async () => (await web.call("GET", "/readyz")).status === 200);
    const dispatcher = startProcess(t, "dispatcher", settings);
    const scheduler = startProcess(t, "scheduler", settings);
    await dispatcher.waitForLine("process.ready");
    await until(
      "three ticks",
      () => scheduler.lines().filter((line) => line.event === "cron.ran").length >= 3,
    );
    for (const process of [web, dispatcher, scheduler]) {
      t.equal(await process.stop(), 0);
      t.same(process.lines().filter(isUnexpected), []);
    }
  });
});
