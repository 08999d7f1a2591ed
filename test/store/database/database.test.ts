import t, { type Test } from "tap";
import { MINUTE } from "../../../src/runtime/durations.ts";
import {
  createDatabase,
  type Database,
  type DatabaseOptions,
  type Queryable,
  sql,
} from "../../../src/store/database/database.ts";
import { DatabaseUnavailable, isStatementTimeout } from "../../../src/store/database/faults.ts";
import { createClient, findClient } from "../../../src/store/tenants/clients.ts";
import { cloneDatabase, connectRawClient } from "../../fixtures/servers/servers.ts";
import { until } from "../../fixtures/until.ts";

/** A transaction that waits while others open connections is not ended on a busy machine. */
const PATIENT = { idleLimitMs: 1 * MINUTE };

function openDatabase(
  t: Test,
  DATABASE_URL: string,
  settings: { DATABASE_POOL?: number } = {},
  options: DatabaseOptions = {},
): Database {
  const db = createDatabase(
    { DATABASE_URL, DATABASE_POOL: 4, DATABASE_PREPARED: true, ...settings },
    () => {},
    options,
  );
  t.teardown(() => db.close());
  return db;
}

t.test("a transaction commits all or nothing", async (t) => {
  const db = openDatabase(t, await cloneDatabase(t), {}, PATIENT);
  const committed = await db.transaction(async (tx) => {
    const client = await createClient(tx, "kept");
    t.equal(await findClient(db, client.id), undefined, "invisible to others before the commit");
    return client;
  });
  t.match(await findClient(db, committed.id), { name: "kept", created_at: Date });
  let lostId = "";
  const failing = db.transaction(async (tx) => {
    lostId = (await createClient(tx, "lost")).id;
    throw new Error("no");
  });
  await t.rejects(failing, /^no$/);
  t.equal(await findClient(db, lostId), undefined);
});

t.test("a failed statement keeps its connection", async (t) => {
  const db = openDatabase(t, await cloneDatabase(t), { DATABASE_POOL: 1 });
  const pid = sql("select pg_backend_pid() as pid");
  const before = await db.query(pid);
  await t.rejects(createClient(db, ""), /clients_name_check/);
  await t.rejects(
    db.transaction((tx) => createClient(tx, "")),
    /clients_name_check/,
  );
  t.same(await db.query(pid), before);
});

t.test("a transaction that Postgres rolled back rejects even if the error was ignored", async (t) => {
  const db = openDatabase(t, await cloneDatabase(t));
  const failing = db.transaction(async (tx) => {
    const client = await createClient(tx, "lost");
    await createClient(tx, "").catch(() => {});
    return client.id;
  });
  await t.rejects(failing, /rolled back/);
  t.same(await db.query("select name from clients"), []);
});

t.test("a failed connection is DatabaseUnavailable, a failed statement is not", async (t) => {
  const url = new URL(await cloneDatabase(t));
  const wrongPassword = new URL(url);
  wrongPassword.password = "wrong";
  const wrongName = new URL(url);
  wrongName.pathname = "/no_such_database";
  for (const { href } of [wrongPassword, wrongName]) {
    await t.rejects(openDatabase(t, href).ping(5_000), DatabaseUnavailable);
    await t.rejects(openDatabase(t, href).query("select 1"), DatabaseUnavailable);
  }
  const error = await openDatabase(t, url.href)
    .query("select $1::text, $2::text", ["one"])
    .catch((error: unknown) => error);
  t.notOk(error instanceof DatabaseUnavailable);
});

t.test("an unreachable database is DatabaseUnavailable", async (t) => {
  const db = openDatabase(t, "postgres://user@127.0.0.1:1/none");
  await t.rejects(db.query("select 1"), DatabaseUnavailable);
  await t.rejects(
    db.transaction((tx) => tx.query("select 1")),
    DatabaseUnavailable,
  );
  await t.rejects(db.ping(1_000), DatabaseUnavailable);
});

t.test("connections that the server closes are replaced", async (t) => {
  const url = await cloneDatabase(t);
  const db = openDatabase(t, url, { DATABASE_POOL: 1 });
  const admin = await connectRawClient(t, url);
  const others = "from pg_stat_activity where datname = current_database() and pid <> pg_backend_pid()";
  const endOthers = () => admin.query(`select pg_terminate_backend(pid) ${others}`);

  await db.query("select 1");
  await endOthers();
  await until("the query succeeds again", () => db.query("select 1 as one").catch(() => undefined));

  const broken = db.transaction(async (tx) => {
    await createClient(tx, "halfway");
    await endOthers();
    await tx.query("select 1");
  });
  await t.rejects(broken, DatabaseUnavailable);
  t.same(await db.query("select name from clients where name = 'halfway'"), []);
});

t.test("a broken connection is reported to onFault, unless the pool is closing", async (t) => {
  const url = await cloneDatabase(t);
  const admin = await connectRawClient(t, url);
  for (const closing of [false, true]) {
    const faults: string[] = [];
    const settings = { DATABASE_URL: url, DATABASE_POOL: 1, DATABASE_PREPARED: true };
    const db = createDatabase(settings, (error) => faults.push(error.message));
    let closed: Promise<void> | undefined;
    const broken = db.transaction(async (tx) => {
      const [own] = await tx.query<{ pid: number }>("select pg_backend_pid() as pid");
      if (closing) closed = db.close();
      await admin.query("select pg_terminate_backend($1)", [own?.pid]);
      await until("the connection is broken", () =>
        tx.query("select 1").then(
          () => undefined,
          (error: Error) => error,
        ),
      );
      if (!closing) await until("the fault is reported", () => faults.length > 0);
      await tx.query("select 1");
    });
    await t.rejects(broken, DatabaseUnavailable);
    await (closed ?? db.close());
    if (closing) t.same(faults, []);
  }
});

t.test("a ping times out while the pool has no free connection", async (t) => {
  const db = openDatabase(t, await cloneDatabase(t), { DATABASE_POOL: 1 });
  await db.transaction(async () => {
    await t.rejects(db.ping(100), DatabaseUnavailable);
  });
  await db.ping(10_000);
});

t.test("a transaction rolled back by a deadlock is retried, and both commit", async (t) => {
  const db = openDatabase(t, await cloneDatabase(t), {}, PATIENT);
  const [a, b] = [(await createClient(db, "a")).id, (await createClient(db, "b")).id];
  const lock = "select 1 from clients where id = $1 for update";
  let [runs, waiting] = [0, 0];
  let resolveBothLocked = () => {};
  const bothLocked = new Promise<void>((resolve) => {
    resolveBothLocked = resolve;
  });
  const lockBoth = (first: string, second: string) =>
    db.transaction(async (tx) => {
      runs += 1;
      await tx.query(lock, [first]);
      waiting += 1;
      if (waiting === 2) resolveBothLocked();
      await bothLocked;
      await tx.query(lock, [second]);
      return first;
    });
  t.same(await Promise.all([lockBoth(a, b), lockBoth(b, a)]), [a, b]);
  t.ok(runs > 2, "one of them is retried");
});

t.test("a statement fails after its timeout, or runs to its end without one", async (t) => {
  const settings = { DATABASE_URL: await cloneDatabase(t), DATABASE_POOL: 1, DATABASE_PREPARED: true };
  const [withShortTimeout, withoutTimeout] = [
    createDatabase(settings, () => {}, { statementTimeoutMs: 50 }),
    createDatabase(settings, () => {}, { statementTimeoutMs: "endless" }),
  ];
  t.teardown(() => Promise.all([withShortTimeout.close(), withoutTimeout.close()]));
  await t.rejects(withShortTimeout.query("select pg_sleep(1)"), DatabaseUnavailable);
  t.equal((await withoutTimeout.query("select pg_sleep(1)")).length, 1);
});

t.test("a lost answer is uncertain only if the statement or commit may have written", async (t) => {
  const url = await cloneDatabase(t);
  const settings = { DATABASE_URL: url, DATABASE_POOL: 4, DATABASE_PREPARED: true };
  // The wait for a connection counts too: a timeout before the statement is sent would be another case.
  const db = createDatabase(settings, () => {}, { statementTimeoutMs: 4_000 });
  t.teardown(() => db.close());
  const slowly = "cross join (select pg_sleep(300)) as slow";
  const outcomeOf = (work: Promise<unknown>) =>
    work.then(
      () => "answered",
      (error: DatabaseUnavailable) => error.mayHaveWritten,
    );
  const insert = `insert into clients (id, name) select gen_random_uuid(), 'x' from (select 1) one ${slowly}`;
  const [read, write, uncommitted] = await Promise.all([
    outcomeOf(db.query(`select name from clients ${slowly}`)),
    outcomeOf(db.query(insert)),
    outcomeOf(db.transaction((tx) => tx.query(insert))),
  ]);
  t.equal(read, false, "a read");
  t.equal(write, true, "a write");
  t.equal(uncommitted, false, "a write before its commit");
  const unreachable = openDatabase(t, "postgres://user@127.0.0.1:1/none");
  t.equal(await outcomeOf(unreachable.query(insert)), false, "a connection that failed");
});

t.test("Postgres ends a statement that the process gave up, in a transaction or not", async (t) => {
  const url = await cloneDatabase(t);
  const db = openDatabase(t, url, { DATABASE_POOL: 2 }, { statementTimeoutMs: 2_000 });
  const observer = openDatabase(t, url);
  const sleeping = () =>
    observer.query(
      "select 1 from pg_stat_activity where query like '%pg_sleep(300)%' and pid <> pg_backend_pid()",
    );
  await Promise.all([
    t.rejects(db.query("select pg_sleep(300)"), DatabaseUnavailable),
    t.rejects(
      db.transaction((tx) => tx.query("select pg_sleep(300)")),
      DatabaseUnavailable,
    ),
  ]);
  await until("no statement is running", async () => (await sleeping()).length === 0);
});

t.test("a limit of a transaction ends its statement in Postgres, with an error of its own", async (t) => {
  const db = openDatabase(t, await cloneDatabase(t));
  const ended = db.transaction((tx) => tx.query("select pg_sleep(300)"), { statementMs: 10 });
  const error = await ended.catch((error: unknown) => error);
  t.equal(isStatementTimeout(error), true);
});

t.test("a transaction begins with the limits that Postgres enforces, in one round trip", async (t) => {
  const db = openDatabase(t, await cloneDatabase(t), {}, { statementTimeoutMs: 7_000 });
  const readLimits = (tx: Queryable) =>
    tx.query(
      "select current_setting('idle_in_transaction_session_timeout') as idle, current_setting('statement_timeout') as statement",
    );
  t.same(await db.transaction(readLimits), [{ idle: "3s", statement: "8s" }]);
  t.same(await db.transaction(readLimits, { statementMs: 50 }), [{ idle: "3s", statement: "50ms" }]);
  t.same(await readLimits(db), [{ idle: "0", statement: "0" }], "they end with the transaction");
  const begun = await db.transaction(() =>
    db.query(
      "select query from pg_stat_activity where datname = current_database() and state = 'idle in transaction'",
    ),
  );
  t.match(begun, [{ query: /^begin; set local .*; set local / }], "the last thing sent is the first one");
});

t.test("a process that stops in a transaction keeps its locks for seconds only", async (t) => {
  const url = await cloneDatabase(t);
  // Longer than a busy machine takes between the begin and the lock.
  const db = openDatabase(t, url, {}, { idleLimitMs: 2_000 });
  const other = openDatabase(t, url);
  const { id } = await createClient(other, "a");
  const lock = "select 1 from clients where id = $1 for update";
  let hasOtherLocked = false;
  const stopped = db.transaction(async (tx) => {
    await tx.query(lock, [id]);
    await other.transaction((tx) => tx.query(lock, [id]));
    hasOtherLocked = true;
    await tx.query("select 1");
  });
  await t.rejects(stopped, DatabaseUnavailable, "its transaction was rolled back meanwhile");
  t.equal(hasOtherLocked, true, "another transaction has taken the lock");
});
