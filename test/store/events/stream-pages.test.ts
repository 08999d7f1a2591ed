import t from "tap";
import { examineTransactions } from "../../../src/commands/doctor/checks.ts";
import { toNewEvent } from "../../../src/domain/events/record-events.ts";
import { MAX_TRANSACTION_AGE_MS } from "../../../src/runtime/deadlines.ts";
import { HOUR, MINUTE, SECOND } from "../../../src/runtime/durations.ts";
import { firstIdAt, newId } from "../../../src/runtime/ids.ts";
import { createDatabase, type Database } from "../../../src/store/database/database.ts";
import { insertEvents, type NewEvent, StaleIds } from "../../../src/store/events/insert-events.ts";
import {
  MAX_ID_AGE_MS,
  type Mark,
  readOpenTransactions,
  takeMark,
} from "../../../src/store/events/stream-marks.ts";
import { readStreamPage, type StreamRange } from "../../../src/store/events/stream-pages.ts";
import { createClient } from "../../../src/store/tenants/clients.ts";
import { insertEventsOfAnyTime } from "../../fixtures/events/events.ts";
import { withoutRetries } from "../../fixtures/events/queue-rows.ts";
import { testSettings } from "../../fixtures/processes/settings.ts";
import { connectRawClient } from "../../fixtures/servers/servers.ts";

const PAGE = { maxRows: 100, maxBytes: 1_000_000 };

const newTestEvent = (clientId: string, id = newId("evt")): NewEvent =>
  toNewEvent(id, { clientId, type: "webhook.test", key: null, data: {} });

const markOf = async (db: Database): Promise<Mark> => (await takeMark(db)).mark;

t.test("pages of the event stream", async (t) => {
  const settings = await testSettings(t);
  const db = createDatabase(
    { DATABASE_URL: settings.DATABASE_URL as string, DATABASE_POOL: 5, DATABASE_PREPARED: true },
    () => {},
  );
  t.teardown(() => db.close());
  const openTransaction = async () => {
    const raw = await connectRawClient(t, settings.DATABASE_URL as string);
    await raw.query("begin");
    return {
      insert: (...events: NewEvent[]) => insertEvents(withoutRetries(raw), events),
      query: (text: string) => raw.query(text),
    };
  };
  const idsIn = async (clientId: string, range: StreamRange) =>
    (await readStreamPage(db, [clientId], range, PAGE)).rows.map(({ id }) => id);

  t.test("an event that is committed late is in the next range, each event in one", async (t) => {
    const { id: clientId } = await createClient(db, "A client");
    const start = await markOf(db);
    const late = newTestEvent(clientId);
    const { insert, query } = await openTransaction();
    await insert(late);
    const early = newTestEvent(clientId);
    await insertEvents(db, [early]);
    const first = await markOf(db);
    t.same(await idsIn(clientId, { from: start, to: first }), [early.id]);
    await query("commit");
    const [second, third] = [await markOf(db), await markOf(db)];
    t.same(await idsIn(clientId, { from: start, to: first }), [early.id], "a range does not change");
    t.same(await idsIn(clientId, { from: first, to: second }), [late.id]);
    t.same(await idsIn(clientId, { from: second, to: third }), []);
    t.same(await idsIn(clientId, { from: start, to: third }), [late.id, early.id]);
    t.same(await idsIn(clientId, { from: { since: Date.now() - MINUTE }, to: third }), [late.id, early.id]);
  });

  t.test("the floor waits for an open transaction", async (t) => {
    const { query } = await openTransaction();
    await query("select 1");
    const [
      {
        rows: [started],
      },
    ] = [await query("select extract(epoch from now()) * 1000 as at")];
    const marks = [await markOf(db), await markOf(db)];
    for (const { floor } of marks)
      t.equal(floor, Math.floor(Number(started.at)) - MAX_ID_AGE_MS, "the floor does not move");
    await query("commit");
    const { floor, at } = await markOf(db);
    t.ok(floor > (marks[0] as Mark).floor);
    t.ok(floor <= at - MAX_ID_AGE_MS);
  });

  t.test("ids that do not fit their transaction are refused", async (t) => {
    const { id: clientId } = await createClient(db, "A client");
    const idAt = (time: number) => `${firstIdAt("evt", time)}${"0".repeat(16)}`;
    for (const offset of [-20 * SECOND, 20 * SECOND]) {
      const event = newTestEvent(clientId, idAt(Date.now() + offset));
      await t.rejects(insertEvents(db, [{ ...event, fingerprint: "0".repeat(32) }]), StaleIds);
    }
    const [event] = [{ ...newTestEvent(clientId), fingerprint: "0".repeat(32) }];
    t.equal((await insertEvents(db, [event])).length, 1, "nothing was inserted, the fingerprint included");
  });

  t.test("many events and large ones are read in parts", async (t) => {
    const { id: clientId } = await createClient(db, "A client");
    const since = Date.now() - HOUR;
    const events = Array.from({ length: 1_500 }, (_, index) =>
      newTestEvent(clientId, `${firstIdAt("evt", since + index)}${"0".repeat(16)}`),
    );
    await insertEventsOfAnyTime(db, events);
    const to = await markOf(db);
    const read = (after: string | undefined, limits: Partial<typeof PAGE>) =>
      readStreamPage(db, [clientId], { from: { since }, to, after }, { ...PAGE, ...limits });
    const found: string[] = [];
    let after: string | undefined;
    do {
      const page = await read(after, { maxRows: 400 });
      found.push(...page.rows.map(({ id }) => id));
      after = page.position;
    } while (after !== undefined);
    t.same(
      found,
      events.map(({ id }) => id),
    );
    const small = await read(undefined, { maxBytes: 1 });
    t.equal(small.rows.length, 1, "at least one event");
    t.equal(small.position, events[0]?.id);
    const none = await readStreamPage(
      db,
      [clientId],
      { from: { since }, to },
      { ...PAGE, filters: { keys: ["chatapp"] } },
    );
    t.match(none, { rows: [], position: events[999]?.id });
  });

  t.test("a role that may not see transactions uses the bound", async (t) => {
    const url = new URL(settings.DATABASE_URL as string);
    const role = `limited_${url.pathname.slice(1)}`;
    await db.query(`create role ${role} login password '${url.password}'`);
    await db.query(`grant select, insert on stream_generation to ${role}`);
    t.teardown(async () => {
      await db.query(`drop owned by ${role}`);
      await db.query(`drop role ${role}`);
    });
    url.username = role;
    const limited = createDatabase(
      { DATABASE_URL: url.href, DATABASE_POOL: 1, DATABASE_PREPARED: true },
      () => {},
    );
    t.teardown(() => limited.close());
    t.match(await readOpenTransactions(limited), { areHidden: true });
    t.match(await examineTransactions(limited), { status: "warning", fix: /pg_read_all_stats/ });
    const { at, floor } = await markOf(limited);
    t.ok(at - floor >= MAX_TRANSACTION_AGE_MS);
    t.match(await examineTransactions(db), { status: "ok" });
  });
});
