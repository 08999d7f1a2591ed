import { join } from "node:path";
import t, { type Test } from "tap";
import { createDatabase, type Database } from "../../../src/store/database/database.ts";
import { applyMigrations } from "../../../src/store/database/migrations.ts";
import { takeMark } from "../../../src/store/events/stream-marks.ts";
import { followJson, followStream } from "../../fixtures/events/event-stream.ts";
import {
  insertEventsOfAnyTime,
  makeEvents,
  newEvent,
  RECEIVED_TEXT,
  TEST_PAYLOAD,
} from "../../fixtures/events/events.ts";
import { startApi } from "../../fixtures/http/api.ts";
import { nextTransactionNumber, startCrashingPostgres } from "../../fixtures/servers/crashing-postgres.ts";
import { makeTempFolder } from "../../fixtures/servers/folders.ts";
import { runPostgresClient } from "../../fixtures/servers/programs.ts";
import { cloneDatabase } from "../../fixtures/servers/servers.ts";
import { makeTenant } from "../../fixtures/tenants/tenants.ts";
import { until } from "../../fixtures/until.ts";

const STREAM = "/api/events/stream";
const TEST_EVENT = { type: "webhook.test", payload: TEST_PAYLOAD };
const FILTERS = ["", "keys=photoapp"];

/** An API whose statements wait while the test holds them. */
async function startHeldApi(t: Test, settings: Record<string, string>) {
  let release: (() => void) | undefined;
  let released: Promise<void> | undefined;
  const database = (real: Database): Database => ({
    ...real,
    async query(...args) {
      await released;
      return real.query(...args);
    },
  });
  return {
    ...(await startApi(t, { settings, database })),
    hold() {
      released = new Promise((resolve) => {
        release = resolve;
      });
    },
    release() {
      released = undefined;
      release?.();
    },
  };
}

/** Uses up transaction numbers, which stay in memory as those of claims do. */
const useUpNumbers = (db: Database) =>
  db.query("do $$ begin for n in 1..100 loop perform pg_current_xact_id(); commit; end loop; end $$");

/** The numbers of the transactions that inserted events. */
async function readNumbers(db: Database, ...events: { id: string }[]): Promise<number[]> {
  const rows = await db.query<{ number: string }>("select xmin as number from events where id = any($1)", [
    events.map(({ id }) => id),
  ]);
  return rows.map(({ number }) => Number(number));
}

const missing = (expected: readonly (string | undefined)[], found: readonly (string | undefined)[]) =>
  expected.filter((id) => !found.includes(id));

t.test("no reader misses an event whose transaction number Postgres lost and gave out again", async (t) => {
  const postgres = await startCrashingPostgres(t);
  await applyMigrations(postgres.url);
  const api = await startHeldApi(t, { DATABASE_URL: postgres.url });
  const db = createDatabase(api.config, () => {});
  t.teardown(() => db.close());

  /** A client with a key that reads pages of the JSON form. */
  async function makeReader() {
    const tenant = await makeTenant({ db, config: api.config });
    const { headers } = await tenant.createKey("webhooks:manage");
    const read = async (query: string): Promise<{ ids: string[]; cursor: string }> => {
      const { body } = await api.call("GET", `${STREAM}?${query}`, { headers });
      return { ids: body.data.map(({ event_id }: { event_id: string }) => event_id), cursor: body.cursor };
    };
    return { tenant, headers, read };
  }

  const { tenant, headers, read } = await makeReader();
  const followers = FILTERS.flatMap((filters) => [
    { filters, ...followStream(t, api.address, [headers], filters) },
    { filters, ...followJson(t, api.address, [headers], filters) },
  ]);
  await until("all follow", () => followers.every(({ hasBegun }) => hasBegun()));

  await until("the numbers of events were given out before", async () => {
    const slow = await makeReader();
    const { cursor: start } = await slow.read("");
    // Its id comes before the page that is cut, and its transaction after it.
    const early = newEvent(slow.tenant, Date.now() - 1, TEST_EVENT);
    const [, unread] = await makeEvents({ db }, slow.tenant, RECEIVED_TEXT, RECEIVED_TEXT);
    await useUpNumbers(db);
    const saved = await Promise.all(
      FILTERS.map(async (filters) => ({ filters, cursor: (await read(filters)).cursor })),
    );
    const { cursor: half } = await slow.read(`limit=1&cursor=${start}`);
    // Their ids are made before the crash, so only the numbers tell that they are later than the marks.
    const chatapp = newEvent(tenant, Date.now(), TEST_EVENT);
    const photoapp = newEvent(tenant, Date.now(), { ...TEST_EVENT, key: "photoapp" });

    api.hold();
    const firstUnused = await nextTransactionNumber(db);
    await postgres.crash();
    for (const event of [chatapp, photoapp, early]) await insertEventsOfAnyTime(db, [event]);
    const numbers = await readNumbers(db, chatapp, photoapp, early);
    await useUpNumbers(db);
    api.release();

    const [later] = await makeEvents({ db }, tenant, { ...RECEIVED_TEXT, key: "photoapp" });
    const expected = (filters: string) => [...(filters === "" ? [chatapp.id] : []), photoapp.id, later];
    for (const { form, filters, ids } of followers) {
      await until(`${form} has the later event`, () => ids().has(later as string));
      t.same(missing(expected(filters), [...ids()]), [], `${form} ${filters}`);
    }
    for (const { filters, cursor } of saved) {
      const { ids } = await read(`${filters}&cursor=${cursor}`);
      t.same(missing(expected(filters), ids), [], `a saved cursor ${filters}`);
    }
    const { ids } = await slow.read(`cursor=${half}`);
    t.same(missing([early.id, unread], ids), [], "a page that was cut");
    return numbers.every((number) => number < firstUnused);
  });

  t.test("a dump takes no generation to another server", async (t) => {
    const url = await cloneDatabase(t);
    const restored = createDatabase({ ...api.config, DATABASE_URL: url }, () => {});
    t.teardown(() => restored.close());
    const dump = join(makeTempFolder(t), "dump");
    const contents = ["--format=custom", "--data-only", "--table=stream_generation"];
    await runPostgresClient("pg_dump", ...contents, `--file=${dump}`, postgres.url);
    await runPostgresClient("pg_restore", `--dbname=${url}`, dump);
    const readRows = (from: Database) => from.query("select * from stream_generation");
    t.same(await readRows(restored), await readRows(db), "a dump has the row");
    const [original, copy] = await Promise.all([db, restored].map(takeMark));
    t.not(copy?.mark.snapshot.generation, original?.mark.snapshot.generation);
  });
});
