import t, { type Test } from "tap";
import { createDatabase, type Database } from "../../../src/store/database/database.ts";
import { ConnectionsBusy, DatabaseUnavailable } from "../../../src/store/database/faults.ts";
import { cloneDatabase } from "../../fixtures/servers/servers.ts";
import { until } from "../../fixtures/until.ts";

const POOL = 4;
const SHARE = 2;

interface OpenOptions {
  statementTimeoutMs?: number;
  sharePerKey?: number | undefined;
}

async function openDatabase(
  t: Test,
  { statementTimeoutMs = 60_000, ...options }: OpenOptions = {},
): Promise<Database> {
  const settings = { DATABASE_URL: await cloneDatabase(t), DATABASE_POOL: POOL, DATABASE_PREPARED: true };
  const db = createDatabase(settings, () => {}, { sharePerKey: SHARE, ...options, statementTimeoutMs });
  t.teardown(() => db.close());
  return db;
}

/** Transactions of one key, each of which holds its connection until `release`. */
function createHolder(t: Test, db: Database) {
  const releases: (() => void)[] = [];
  let running = 0;
  t.teardown(() => {
    for (const release of releases) release();
  });
  return {
    running: () => running,
    release: () => releases.shift()?.(),
    /** The commit may come too late for the statement timeout, which does not matter here. */
    hold: () =>
      void db
        .transaction(async () => {
          running += 1;
          await new Promise<void>((resolve) => releases.push(resolve));
          running -= 1;
        })
        .catch(() => {}),
  };
}

type Holder = ReturnType<typeof createHolder>;

/** Starts transactions and waits until `running` of them have a connection. */
async function startHolding(holder: Holder, { count, running = count }: { count: number; running?: number }) {
  for (let started = 0; started < count; started++) holder.hold();
  await until(`${running} transactions run`, () => holder.running() === running);
}

const refusalOf = (work: Promise<unknown>): Promise<unknown> =>
  work.then(
    () => "done",
    (error: unknown) => error,
  );

t.test("a key has at most its share, and the others have the rest", async (t) => {
  const db = await openDatabase(t);
  const [greedy, other] = [createHolder(t, db.forKey("greedy")), createHolder(t, db.forKey("other"))];
  await startHolding(greedy, { count: 10, running: SHARE });
  t.equal((await db.forKey("third").query("select 1 as one")).length, 1);
  await startHolding(other, { count: SHARE });
  t.equal(greedy.running(), SHARE);
  greedy.release();
  await until("the next one of the key runs", () => greedy.running() === SHARE);
});

t.test("a free connection goes to the key that uses fewest", async (t) => {
  const db = await openDatabase(t, { sharePerKey: 3 });
  const [many, few] = [createHolder(t, db.forKey("many")), createHolder(t, db.forKey("few"))];
  const last = createHolder(t, db.forKey("last"));
  await startHolding(many, { count: 2 });
  await startHolding(few, { count: 1 });
  await startHolding(last, { count: 1 });
  const served: string[] = [];
  const note = (key: string) =>
    db
      .forKey(key)
      .query("select 1 as one")
      .then(() => served.push(key));
  const waiting = [note("many"), note("few"), note("none")];
  last.release();
  await Promise.all(waiting);
  t.same(served, ["none", "few", "many"]);
});

t.test(
  "a statement is refused when no connection becomes free in time, and nothing is written",
  async (t) => {
    const db = await openDatabase(t, { statementTimeoutMs: 2_000 });
    const insert = "insert into clients (id, name) values (gen_random_uuid(), 'never')";
    const [one, two] = [createHolder(t, db.forKey("one")), createHolder(t, db.forKey("two"))];
    await startHolding(one, { count: SHARE });
    t.match(await refusalOf(db.forKey("one").query(insert)), { isOwnShareUsed: true });
    await startHolding(two, { count: POOL - SHARE });
    const [own, others] = await Promise.all([
      refusalOf(db.forKey("one").query(insert)),
      refusalOf(db.forKey("three").transaction((tx) => tx.query(insert))),
    ]);
    t.ok(own instanceof ConnectionsBusy);
    t.match(own, { isOwnShareUsed: true, mayHaveWritten: false });
    t.ok(others instanceof ConnectionsBusy);
    t.match(others, { isOwnShareUsed: false, mayHaveWritten: false });
    one.release();
    t.same(await db.query("select name from clients where name = 'never'"), []);
  },
);

t.test("a statement that waits is not run when its caller has gone", async (t) => {
  const db = await openDatabase(t);
  const holder = createHolder(t, db.forKey("one"));
  await startHolding(holder, { count: SHARE });
  const caller = new AbortController();
  let asked = 0;
  const callerGone = () => {
    asked += 1;
    return caller.signal;
  };
  await db.forKey("two", callerGone).query("select 1");
  t.equal(asked, 0, "a statement that need not wait does not ask");
  const waiting = refusalOf(db.forKey("one", callerGone).query("select 1"));
  t.equal(asked, 1);
  caller.abort();
  t.match(await waiting, { name: "ConnectionsBusy", isOwnShareUsed: false });
});

t.test("without shares all keys wait in one queue, the oldest first", async (t) => {
  const db = await openDatabase(t, { statementTimeoutMs: 2_000, sharePerKey: undefined });
  const holder = createHolder(t, db.forKey("one"));
  await startHolding(holder, { count: POOL });
  const refusal = await refusalOf(db.forKey("two").query("select 1"));
  t.ok(refusal instanceof DatabaseUnavailable);
  t.notOk(refusal instanceof ConnectionsBusy);
  const served: string[] = [];
  const waiting = ["one", "one", "two"].map((key, index) =>
    db
      .forKey(key)
      .query("select 1")
      .then(() => served.push(`${key} ${index}`)),
  );
  holder.release();
  await Promise.all(waiting);
  t.same(served, ["one 0", "one 1", "two 2"]);
});
