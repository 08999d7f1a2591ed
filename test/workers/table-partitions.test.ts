import type { Test } from "tap";
import t from "tap";
import { recordEvents } from "../../src/domain/events/record-events.ts";
import { DAY, HOUR, MINUTE } from "../../src/runtime/durations.ts";
import { firstIdAt } from "../../src/runtime/ids.ts";
import type { Database } from "../../src/store/database/database.ts";
import { EVENT_TABLES, MESSAGE_TABLES } from "../../src/store/database/partitions.ts";
import { createClient } from "../../src/store/tenants/clients.ts";
import { conservativeNow, tablePartitions } from "../../workers/table-partitions.ts";
import { captureLog } from "../fixtures/captured-log.ts";
import { insertMessage } from "../fixtures/messages/message-rows.ts";
import { applyRetention, openWithoutPartitions, partitionById } from "../fixtures/processes/retention.ts";
import { untilBlocked } from "../fixtures/servers/lock-waits.ts";
import { connectRawClient } from "../fixtures/servers/servers.ts";
import { until } from "../fixtures/until.ts";

const NOON = Date.UTC(2030, 4, 10, 12);
const RETENTION = { EVENT_RETENTION_DAYS: 30, MESSAGE_RETENTION_DAYS: 30 };
/** For tests that let it pass: each day of it is a partition of four tables. */
const SHORT_RETENTION = { EVENT_RETENTION_DAYS: 3, MESSAGE_RETENTION_DAYS: 3 };

async function open(t: Test) {
  const { db, config } = await openWithoutPartitions(t);
  return { db, config, clientId: (await createClient(db, "c")).id };
}

/** Returns the part of an id that its time determines. */
const withoutPrefix = (id: string) => id.slice(id.indexOf("_") + 1);

/** Inserts a delivered event of that time with an attempt, and a sent message; returns the common part of their ids. */
async function makeRows(db: Database, clientId: string, time: number): Promise<string> {
  const [event, message] = (["evt", "msg"] as const).map(
    (prefix) => `${firstIdAt(prefix, time)}${"0".repeat(16)}`,
  );
  const values = [clientId, event];
  await db.query(
    "insert into events (client_id, id, type, occurred_at, is_late, payload) values ($1, $2, 'webhook.test', now(), false, '{}')",
    values,
  );
  await db.query("insert into deliveries (client_id, id, state) values ($1, $2, 'delivered')", values);
  await db.query(
    "insert into attempts (client_id, id, attempt, at, duration_ms) values ($1, $2, 1, now(), 5)",
    values,
  );
  await insertMessage({ db }, { id: clientId }, { id: message as string });
  return withoutPrefix(event as string);
}

/** Returns the partition of each row of a table. */
async function partitionByRow(db: Database, table: string): Promise<Record<string, string>> {
  const rows = Object.entries(await partitionById(db, table));
  return Object.fromEntries(rows.map(([id, partition]) => [withoutPrefix(id), partition]));
}

const SELECT_PARTITIONS = "select 1 from pg_inherits where inhparent = 'events'::regclass";

/** Returns the same counts for events and for messages. */
const bothHistories = (counts: { made?: number; dropped?: number }) =>
  Object.fromEntries(
    Object.entries(counts).flatMap(([outcome, count]) =>
      ["event", "message"].map((kind) => [`${kind}_partitions_${outcome}`, count]),
    ),
  );

const TABLES = [...EVENT_TABLES.tables, ...MESSAGE_TABLES.tables];

t.test("the partitions of today and the next two days are created once", async (t) => {
  const { db, clientId } = await open(t);
  t.match(await applyRetention(RETENTION, db, NOON), bothHistories({ made: 3, dropped: 0 }));
  t.match(await applyRetention(RETENTION, db, NOON), bothHistories({ made: 0 }));
  t.match(await applyRetention(RETENTION, db, NOON + DAY), bothHistories({ made: 1 }));
  const id = await makeRows(db, clientId, NOON);
  const last = await makeRows(db, clientId, NOON + 2 * DAY + 11 * HOUR);
  for (const table of TABLES)
    t.same(await partitionByRow(db, table), { [id]: `${table}_20300510`, [last]: `${table}_20300512` });
});

t.test("a new partition keeps its pages when it is vacuumed", async (t) => {
  const { db } = await open(t);
  await applyRetention(RETENTION, db, NOON);
  for (const partition of TABLES.map((table) => `${table}_20300510`)) {
    await db.query(`vacuum ${partition}`);
    const [row] = await db.query<{ pages: number }>(
      "select relpages as pages from pg_class where oid = $1::regclass",
      [partition],
    );
    t.ok((row?.pages ?? 0) >= 32, `${partition} has ${row?.pages} pages`);
  }
});

t.test("rows in the default partition are moved to a new partition of their time", async (t) => {
  const { db, clientId } = await open(t);
  const [early, late] = [await makeRows(db, clientId, NOON - DAY), await makeRows(db, clientId, NOON)];
  t.equal((await partitionByRow(db, "events"))[late], "events_default");
  await applyRetention(RETENTION, db, NOON);
  for (const table of TABLES)
    t.same(await partitionByRow(db, table), { [early]: `${table}_default`, [late]: `${table}_20300510` });
});

t.test("missing partitions of past days are created after days without a scheduler", async (t) => {
  const { db, clientId } = await open(t);
  await applyRetention(RETENTION, db, NOON);
  const id = await makeRows(db, clientId, NOON + 5 * DAY);
  t.match(await applyRetention(RETENTION, db, NOON + 6 * DAY), bothHistories({ made: 6 }));
  t.equal((await partitionByRow(db, "attempts"))[id], "attempts_20300515");
});

t.test("a partition is dropped when all its rows have passed their retention", async (t) => {
  const { db, clientId } = await open(t);
  const stray = await makeRows(db, clientId, NOON - 40 * DAY);
  await applyRetention(SHORT_RETENTION, db, NOON);
  const [first, second] = [await makeRows(db, clientId, NOON), await makeRows(db, clientId, NOON + DAY)];
  t.match(await applyRetention(SHORT_RETENTION, db, NOON + 3 * DAY), bothHistories({ dropped: 0 }));
  t.same(
    Object.keys(await partitionByRow(db, "events")),
    [first, second],
    `${stray} was in the default partition`,
  );
  t.match(
    await applyRetention(SHORT_RETENTION, db, NOON + 3 * DAY + 13 * HOUR),
    bothHistories({ dropped: 1 }),
  );
  for (const table of TABLES) t.same(Object.keys(await partitionByRow(db, table)), [second]);
});

const LONG_RETENTION = { EVENT_RETENTION_DAYS: 3_650, MESSAGE_RETENTION_DAYS: 3_650 };

t.test("a long retention has longer partitions", async (t) => {
  const { db } = await open(t);
  await applyRetention(LONG_RETENTION, db, NOON);
  const bounds = await db.query(SELECT_PARTITIONS);
  t.equal(bounds.length, 4);
  t.match(await applyRetention(LONG_RETENTION, db, NOON + 60 * DAY), bothHistories({ made: 1 }));
  t.match(
    await applyRetention(RETENTION, db, NOON + 240 * DAY),
    bothHistories({ dropped: 3 }),
    "shorter ones follow",
  );
});

t.test("messages and events have separate retentions", async (t) => {
  const { db, clientId } = await open(t);
  const settings = { EVENT_RETENTION_DAYS: 2, MESSAGE_RETENTION_DAYS: 6 };
  const stray = await makeRows(db, clientId, NOON - 2 * DAY - 12 * HOUR);
  await applyRetention(settings, db, NOON);
  const id = await makeRows(db, clientId, NOON);
  t.same(await partitionByRow(db, "messages"), { [stray]: "messages_default", [id]: "messages_20300510" });
  t.match(await applyRetention(settings, db, NOON + 3 * DAY), {
    event_partitions_dropped: 1,
    message_partitions_dropped: 0,
  });
  t.same(await partitionByRow(db, "events"), {});
  t.same(Object.keys(await partitionByRow(db, "messages")), [stray, id]);
  t.match(await applyRetention(settings, db, NOON + 7 * DAY), { message_partitions_dropped: 1 });
  t.same(await partitionByRow(db, "messages"), {});
});

t.test("concurrent runs create each partition once", async (t) => {
  const { db } = await open(t);
  const results = await Promise.all([
    applyRetention(RETENTION, db, NOON),
    applyRetention(RETENTION, db, NOON),
  ]);
  for (const name of Object.keys(bothHistories({ made: 3 })))
    t.equal(
      results.reduce((sum, { [name]: made = 0 }) => sum + made, 0),
      3,
    );
});

t.test("recording waits and succeeds while a partition is attached", async (t) => {
  const { db, config, clientId } = await open(t);
  const other = await connectRawClient(t, config.DATABASE_URL);
  // Lock the default partition, as creating a partition does, until the recording waits for it.
  await other.query("begin");
  await other.query("create table events_now (like events including defaults including constraints)");
  await other.query("lock table events_default in access exclusive mode");
  const recording = recordEvents(db, [{ clientId, type: "webhook.test", key: null, data: {} }]);
  await untilBlocked(other, 1);
  const [from, to] = [firstIdAt("evt", Date.now() - DAY), firstIdAt("evt", Date.now() + DAY)];
  await other.query(
    `alter table events attach partition events_now for values from ('${from}') to ('${to}')`,
  );
  await other.query("commit");
  const [id] = await recording;
  t.same(await partitionByRow(db, "events"), { [withoutPrefix(id as string)]: "events_now" });
});

t.test("fingerprints are deleted after eight days", async (t) => {
  const { db, clientId } = await open(t);
  const draft = { clientId, type: "webhook.test", key: null, data: {} } as const;
  const drafts = [
    { ...draft, dedupKey: "one" },
    { ...draft, dedupKey: "other" },
  ];
  const countRecorded = async () => (await recordEvents(db, drafts)).filter((id) => id !== undefined).length;
  t.equal(await countRecorded(), 2);
  await db.query("update event_fingerprints set seen_at = now() - interval '7 days 23 hours'");
  t.match(await applyRetention(RETENTION, db), { fingerprints_deleted: 0 });
  t.equal(await countRecorded(), 0);
  await db.query("update event_fingerprints set seen_at = now() - interval '8 days 1 minute'");
  t.match(await applyRetention(RETENTION, db), { fingerprints_deleted: 2 });
  t.equal(await countRecorded(), 2);
});

t.test("idempotency keys are deleted after a day", async (t) => {
  const { db, clientId } = await open(t);
  await db.query(
    `insert into idempotency_keys (id, client_id, fingerprint, reply_sealed, created_at)
    select gen_random_uuid(), $1, gen_random_uuid(), 'x', now() - age
    from unnest('{23 hours 59 minutes, 24 hours 1 minute, 30 days}'::interval[]) as age`,
    [clientId],
  );
  t.match(await applyRetention(RETENTION, db), { idempotency_keys_deleted: 2 });
  t.match(await applyRetention(RETENTION, db), { idempotency_keys_deleted: 0 });
  t.equal((await db.query("select 1 from idempotency_keys")).length, 1);
});

t.test("registered videos are deleted after 90 days", async (t) => {
  const { db, clientId } = await open(t);
  await db.query(
    `insert into ad_videos (client_id, ad_account_id, video_id, created_at)
    select $1, 'act_1', age::text, now() - age
    from unnest('{89 days, 91 days, 1 year}'::interval[]) as age`,
    [clientId],
  );
  t.match(await applyRetention(RETENTION, db), { ad_videos_deleted: 2 });
  t.match(await applyRetention(RETENTION, db), { ad_videos_deleted: 0 });
  t.same(await db.query("select video_id from ad_videos"), [{ video_id: "89 days" }]);
});

t.test("claimed operations are deleted after a day", async (t) => {
  const { db, clientId } = await open(t);
  await db.query(
    `insert into claimed_operations (id, client_id, fingerprint, state, claim_id, leased_until, created_at)
    select gen_random_uuid(), $1, gen_random_uuid(), 'ambiguous', gen_random_uuid(), now(), now() - age
    from unnest('{23 hours 59 minutes, 24 hours 1 minute}'::interval[]) as age`,
    [clientId],
  );
  t.match(await applyRetention(RETENTION, db), { claimed_operations_deleted: 1 });
  t.equal((await db.query("select 1 from claimed_operations")).length, 1);
});

t.test(
  "expired embed sessions are marked and later deleted, and grants of ended tries are erased",
  async (t) => {
    const { db, clientId } = await open(t);
    const add = (
      id: string,
      status: string,
      { expiresIn, tryEndsIn }: { expiresIn: string; tryEndsIn: string },
    ) =>
      db.query(
        `insert into embed_sessions (
        id, client_id, token_hash, status, allowed_origins, platforms, expires_at, result,
        try_id, try_phase, try_until, grant_sealed
      )
      values (
        $1, $2, $1, $3, '{}', '{}', now() + $4::interval, case $3 when 'completed' then '{}' end,
        gen_random_uuid(), 'choosing', now() + $5::interval, 'sealed'
      )`,
        [id, clientId, status, expiresIn, tryEndsIn],
      );
    await add("past", "completed", { expiresIn: "-31 days", tryEndsIn: "-31 days" });
    await add("kept", "completed", { expiresIn: "-29 days", tryEndsIn: "1 hour" });
    await add("late", "opened", { expiresIn: "-1 second", tryEndsIn: "1 hour" });
    await add("done", "completed", { expiresIn: "-1 second", tryEndsIn: "1 hour" });
    await add("left", "opened", { expiresIn: "1 hour", tryEndsIn: "-1 second" });
    await add("used", "opened", { expiresIn: "1 hour", tryEndsIn: "1 hour" });
    const counts = async () => {
      const { embed_sessions_expired, embed_grants_erased, embed_sessions_deleted } = await applyRetention(
        RETENTION,
        db,
      );
      return [embed_sessions_expired, embed_grants_erased, embed_sessions_deleted];
    };
    t.same(await counts(), [1, 2, 1]);
    t.same(await counts(), [0, 0, 0]);
    t.same(await db.query("select id, status, grant_sealed from embed_sessions order by id"), [
      { id: "done", status: "completed", grant_sealed: "sealed" },
      { id: "kept", status: "completed", grant_sealed: "sealed" },
      { id: "late", status: "expired", grant_sealed: null },
      { id: "left", status: "opened", grant_sealed: null },
      { id: "used", status: "opened", grant_sealed: "sealed" },
    ]);
  },
);

t.test("a lock timeout in one step does not stop the other steps", async (t) => {
  const { db, config } = await open(t);
  await applyRetention(RETENTION, db, NOON);
  const reader = await connectRawClient(t, config.DATABASE_URL);
  await reader.query("begin");
  await reader.query("select 1 from events_default");
  await db.query(
    "insert into event_fingerprints values (gen_random_uuid(), gen_random_uuid(), now() - interval '20 days')",
  );
  await t.rejects(applyRetention(RETENTION, db, NOON + 5 * DAY), { code: "55P03" });
  t.same(await db.query("select 1 from event_fingerprints"), []);
  await reader.query("commit");
  t.match(await applyRetention(RETENTION, db, NOON + 5 * DAY), {
    event_partitions_made: 5,
    message_partitions_made: 0, // created by the first call, as these were not locked
  });
});

t.test("the earlier of the process's and the database's clocks counts", async (t) => {
  const { db } = await open(t);
  const now = Date.now;
  t.teardown(() => {
    Date.now = now;
  });
  Date.now = () => now() + 40 * DAY;
  t.ok((await conservativeNow(db)) < now() + MINUTE);
  Date.now = () => now() - 40 * DAY;
  t.ok((await conservativeNow(db)) < now() - 39 * DAY);
});

t.test("a process creates partitions at its start, and retries after a failure", async (t) => {
  const { db } = await open(t);
  const { log, lines } = captureLog();
  let isFailing = true;
  const query: Database["query"] = (statement, values) =>
    isFailing ? Promise.reject(new Error("unavailable")) : db.query(statement, values);
  const worker = tablePartitions({
    settings: RETENTION,
    db: { ...db, query },
    log,
    delays: { intervalMs: 5, retryMs: 5 },
  });
  const fail = () => void t.fail("the process must not end");
  await worker.start?.({ fail });
  t.match(lines, [{ event: "partitions.create_failed" }]);
  isFailing = false;
  await until("the partitions exist", async () => (await db.query(SELECT_PARTITIONS)).length >= 4);
  await worker.close?.();
});
