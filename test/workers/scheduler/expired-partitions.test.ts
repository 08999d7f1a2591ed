import type { Test } from "tap";
import t from "tap";
import { DAY, HOUR, SECOND } from "../../../src/runtime/durations.ts";
import { firstIdAt } from "../../../src/runtime/ids.ts";
import type { Database, Queryable } from "../../../src/store/database/database.ts";
import { dropPartitions } from "../../../src/store/database/expired-partitions.ts";
import { EVENT_TABLES, LOCK_PARTITIONS, MESSAGE_TABLES } from "../../../src/store/database/partitions.ts";
import { finishDeliveries } from "../../../src/store/events/finish-deliveries.ts";
import { replayDeliveries, retryEvent } from "../../../src/store/events/replays.ts";
import { markClientDeleted } from "../../../src/store/tenants/client-erasure.ts";
import { createClient } from "../../../src/store/tenants/clients.ts";
import { captureLog } from "../../fixtures/captured-log.ts";
import { configureWebhook, makeEventAt, updateDelivery } from "../../fixtures/events/events.ts";
import { claimWithNewLease, finishOf, withoutRetries } from "../../fixtures/events/queue-rows.ts";
import { insertBatch } from "../../fixtures/messages/batch-rows.ts";
import { insertMessage, insertSend } from "../../fixtures/messages/message-rows.ts";
import { acceptMessage } from "../../fixtures/messages/send-queue.ts";
import {
  applyRetention,
  idAt,
  openWithoutPartitions,
  partitionById,
} from "../../fixtures/processes/retention.ts";
import { untilBlocked } from "../../fixtures/servers/lock-waits.ts";
import { countRowsRead, disableAutovacuum } from "../../fixtures/servers/query-plans.ts";
import { connectRawClient } from "../../fixtures/servers/servers.ts";
import { makeChannel } from "../../fixtures/tenants/channels.ts";

const NOON = Date.UTC(2030, 4, 10, 12);
/** Shorter than the time for which a delivery is retried, and than a message can be scheduled ahead. */
const RETENTION = { EVENT_RETENTION_DAYS: 1, MESSAGE_RETENTION_DAYS: 1 };
/** When the partition of NOON has passed its retention, and the next one has not. */
const EXPIRED = NOON + 2 * DAY;

async function open(t: Test) {
  const { db, config } = await openWithoutPartitions(t);
  const client = { id: (await createClient(db, "c")).id };
  await configureWebhook({ db }, client);
  return { db, config, client };
}

/** Inserts an event of that time with an attempt; its delivery waits for the next one unless the state is another. */
async function makeEvent(db: Database, client: { id: string }, time: number, state = "retrying") {
  const id = await makeEventAt({ db }, client, time);
  await updateDelivery({ db }, id, { state, attempts: 1 });
  await db.query(
    "insert into attempts (client_id, id, attempt, at, duration_ms) values ($1, $2, 1, now(), 5)",
    [client.id, id],
  );
  return id;
}

/** Inserts a sent message of that time, or a scheduled one. */
async function makeMessage(
  db: Database,
  client: { id: string },
  message: { id: string; isScheduled?: boolean },
) {
  const { id, isScheduled = false } = message;
  await insertMessage({ db }, client, { id, status: isScheduled ? "scheduled" : "sent" });
  if (isScheduled) await insertSend({ db }, client, { id, state: "scheduled" });
}

/** Checks that all tables of events have rows of these ids only. */
async function expectEvents(t: Test, db: Database, ids: readonly string[]) {
  for (const table of EVENT_TABLES.tables)
    t.same(Object.keys(await partitionById(db, table)), [...ids].sort(), table);
}

t.test(
  "an event is delivered when its retries take longer than its retention, and the log says it",
  async (t) => {
    const { db, client } = await open(t);
    await applyRetention(RETENTION, db, NOON);
    const id = await makeEvent(db, client, NOON);
    for (const state of ["delivered", "failed", "skipped"]) await makeEvent(db, client, NOON, state);
    const { log, lines } = captureLog();
    t.match(await applyRetention(RETENTION, db, EXPIRED, { log }), {
      event_partitions_dropped: 0,
      event_rows_deleted: 3,
      event_rows_kept: 1,
    });
    await expectEvents(t, db, [id]);
    t.match(lines, [
      {
        level: "warn",
        event: "retention.postponed",
        table: "events",
        partitions: 1,
        rows: 1,
        since: "2030-05-10",
      },
    ]);
    const ref = { clientId: client.id, id };
    const { lease, rows } = await claimWithNewLease({ db }, [ref]);
    t.match(rows, [{ id, payload: "{}" }]);
    const delivered = { state: "delivered", attempts: 1, delay_ms: null, restart_delay_ms: null } as const;
    t.same(await finishDeliveries(db, [finishOf(ref, lease, delivered)]), [id]);
    t.match(await applyRetention(RETENTION, db, EXPIRED, { log }), { event_partitions_dropped: 1 });
    t.equal(lines.length, 1, "nothing is kept any more");
    await expectEvents(t, db, []);
  },
);

t.test("a range is dropped although an earlier one is kept", async (t) => {
  const { db, client } = await open(t);
  await applyRetention(RETENTION, db, NOON);
  const kept = idAt("msg", NOON, 1);
  await makeMessage(db, client, { id: kept, isScheduled: true });
  await makeMessage(db, client, { id: idAt("msg", NOON + DAY, 1) });
  const event = await makeEvent(db, client, NOON);
  await makeEvent(db, client, NOON + DAY, "delivered");
  t.match(await applyRetention(RETENTION, db, EXPIRED + DAY), {
    event_partitions_dropped: 1,
    message_partitions_dropped: 1,
  });
  t.same(await partitionById(db, "messages"), { [kept]: "messages_20300510" });
  await expectEvents(t, db, [event]);
});

t.test("messages are accepted while rows of a range that is kept are deleted", async (t) => {
  const { db, config, client } = await open(t);
  const channelId = await makeChannel({ db, config }, client);
  await applyRetention(RETENTION, db, NOON);
  const [kept, settled] = [idAt("msg", NOON, 1), idAt("msg", NOON, 2)];
  await makeMessage(db, client, { id: kept, isScheduled: true });
  await makeMessage(db, client, { id: settled });
  const reader = await connectRawClient(t, config.DATABASE_URL);
  // Its lock on the table conflicts with one that would exclude the acceptance.
  await reader.query("begin");
  await reader.query("select 1 from messages where id = $1 for update", [settled]);
  const acceptAndRelease = async () => {
    await untilBlocked(reader, 1);
    const accepted = await acceptMessage({ clientId: client.id, channelId }, db);
    await reader.query("commit");
    return accepted;
  };
  const [counts, accepted] = await Promise.all([applyRetention(RETENTION, db, EXPIRED), acceptAndRelease()]);
  t.match(counts, { message_partitions_dropped: 0, message_rows_deleted: 1 });
  t.equal(accepted.isDue, true);
  t.same(Object.keys(await partitionById(db, "messages")), [accepted.id, kept].sort());
});

const RETRIES = {
  retried: (db: Queryable, client: { id: string }, id: string) => retryEvent(db, client.id, id),
  replayed: (db: Queryable, client: { id: string }, id: string) =>
    replayDeliveries(db, client.id, { ids: [id], status: "failed" }),
};

t.test("an event that is retried just before its range is dropped is kept", async (t) => {
  const { db, client } = await open(t);
  await applyRetention(RETENTION, db, NOON);
  for (const [name, retry] of Object.entries(RETRIES)) {
    await db.query("truncate events, deliveries, attempts, delivery_queue");
    const id = await makeEvent(db, client, NOON, "failed");
    let isChecked = false;
    const retrying: Database = {
      ...db,
      async query(statement, values) {
        isChecked ||= statement === EVENT_TABLES.findNeeded;
        return db.query(statement, values);
      },
      async transaction(work) {
        if (isChecked) await retry(db, client, id);
        return db.transaction(work);
      },
    };
    t.match(await applyRetention(RETENTION, retrying, EXPIRED), { event_partitions_dropped: 0 }, name);
    await expectEvents(t, db, [id]);
    const { rows } = await claimWithNewLease({ db }, [{ clientId: client.id, id }]);
    t.equal(rows.length, name === "retried" ? 1 : 0, "a replay waits in bulk");
    t.same(await db.query("select id from delivery_queue"), [{ id }]);
  }
});

for (const [name, retry] of Object.entries(RETRIES))
  t.test(`an event that is ${name} while its range is dropped is kept`, async (t) => {
    const { db, config, client } = await open(t);
    await applyRetention(RETENTION, db, NOON);
    const id = await makeEvent(db, client, NOON, "failed");
    const retrying = await connectRawClient(t, config.DATABASE_URL);
    await retrying.query("begin");
    await retry(withoutRetries(retrying), client, id);
    const commit = async () => {
      await untilBlocked(retrying, 1);
      await retrying.query("commit");
    };
    /** On a busy machine the wait for the lock may end before the test sees it. */
    const drop = (): Promise<number> =>
      dropPartitions(db, EVENT_TABLES, { before: EXPIRED - DAY }).catch((error) => {
        if (error.code === "55P03") return drop();
        throw error;
      });
    const [dropped] = await Promise.all([drop(), commit()]);
    t.equal(dropped, 0);
    await expectEvents(t, db, [id]);
  });

t.test("a range whose drop takes too long is dropped by the next run", async (t) => {
  const { db, config } = await open(t);
  await applyRetention(RETENTION, db, NOON);
  const holder = await connectRawClient(t, config.DATABASE_URL);
  await holder.query("begin");
  await holder.query(LOCK_PARTITIONS.text);
  const drop = () => dropPartitions(db, EVENT_TABLES, { before: EXPIRED - DAY });
  const startedAt = performance.now();
  await t.rejects(drop(), { code: "57014" });
  t.ok(performance.now() - startedAt < 10 * SECOND);
  await holder.query("rollback");
  t.equal(await drop(), 1);
});

t.test("a message whose batch is opened again just before its range is dropped is kept", async (t) => {
  const { db, client } = await open(t);
  await applyRetention(RETENTION, db, NOON);
  const id = idAt("msg", NOON, 1);
  const batch = await insertBatch({ db }, client, {
    channel_id: "ch_1",
    messages: [id],
    status: "finished",
    finished_at: new Date(),
  });
  await insertMessage({ db }, client, { id, batch_id: batch, status: "sent" });
  const reopening: Database = {
    ...db,
    async transaction(work, limits) {
      await db.query("update batches set status = 'running', finished_at = null");
      return db.transaction(work, limits);
    },
  };
  t.equal(await dropPartitions(reopening, MESSAGE_TABLES, { before: EXPIRED - DAY }), 0);
  t.same(Object.keys(await partitionById(db, "messages")), [id]);
});

t.test("an event that is replayed while rows are deleted from its partition is kept", async (t) => {
  const { db, config, client } = await open(t);
  const [first, other] = [
    await makeEvent(db, client, NOON, "failed"),
    await makeEvent(db, client, NOON, "failed"),
  ];
  const replaying = await connectRawClient(t, config.DATABASE_URL);
  await replaying.query("begin");
  const ids = [first];
  t.same(await replayDeliveries(withoutRetries(replaying), client.id, { ids, status: "failed" }), ids);
  const commit = async () => {
    await untilBlocked(replaying, 1);
    await replaying.query("commit");
  };
  const [counts] = await Promise.all([applyRetention(RETENTION, db, EXPIRED), commit()]);
  t.match(counts, { event_rows_deleted: 1 });
  await expectEvents(t, db, [first]);
  t.same(await db.query("select id from delivery_queue"), [{ id: first }], `${other} was deleted`);
});

t.test("events of a deleted client keep their range until they are erased", async (t) => {
  const { db, client } = await open(t);
  await applyRetention(RETENTION, db, NOON);
  await makeEvent(db, client, NOON);
  await markClientDeleted(db, client.id);
  t.match(await applyRetention(RETENTION, db, EXPIRED), { event_partitions_dropped: 0, clients_erased: 1 });
  t.match(await applyRetention(RETENTION, db, EXPIRED), { event_partitions_dropped: 1 });
});

t.test("events and messages of the default partition that are not needed are deleted", async (t) => {
  const { db, client } = await open(t);
  const other = { id: (await createClient(db, "o")).id };
  const [kept, settled, young] = [1, 2, 30].map((day) => idAt("msg", NOON - 40 * DAY + day * DAY, 1)) as [
    string,
    string,
    string,
  ];
  await makeMessage(db, client, { id: kept, isScheduled: true });
  await makeMessage(db, other, { id: settled });
  await makeMessage(db, other, { id: young });
  const events = [await makeEvent(db, client, NOON - 40 * DAY), await makeEvent(db, client, NOON - HOUR)];
  await makeEvent(db, client, NOON - 39 * DAY, "failed");
  const { log, lines } = captureLog();
  const settings = { EVENT_RETENTION_DAYS: 20, MESSAGE_RETENTION_DAYS: 20 };
  t.match(await applyRetention(settings, db, NOON, { log }), {
    event_rows_deleted: 1,
    event_rows_kept: 1,
    message_rows_deleted: 1,
    message_rows_kept: 1,
  });
  t.same(Object.keys(await partitionById(db, "messages")), [kept, young]);
  await expectEvents(t, db, events);
  const postponed = { event: "retention.postponed", partitions: 0, rows: 1 };
  t.match(lines, [
    { ...postponed, table: "events", since: "2030-03-31" },
    { ...postponed, table: "messages", since: "2030-04-01" },
  ]);
});

/** Inserts sent messages of that time into the default partition; every third one is also still to be sent. */
const insertMessages = (db: Database, client: { id: string }, count: number): Promise<object[]> =>
  db.query(
    `with stored as (
      insert into messages (client_id, id, channel_id, platform, recipient, recipient_kind, type, content)
      select $1::uuid, $2 || lpad(n::text, 16, '0'), 'ch_1', 'chatapp', '1', 'phone', 'text', '{}'
      from generate_series(1, $3::integer) n
      returning client_id, id
    )
    insert into sends (client_id, id, channel_id, recipient, state, expires_at)
    select client_id, id, 'ch_1', '1', 'scheduled', now()
    from stored
    where right(id, 6)::integer % 3 = 0`,
    [client.id, firstIdAt("msg", NOON - 40 * DAY), count],
  );

/** Calls back before each statement that deletes a batch. */
function watchBatches(
  db: Database,
  onBatch: (batch: { text: string; values: unknown[] }, run: Database["query"]) => Promise<void>,
): Database {
  return {
    ...db,
    transaction: (work) =>
      db.transaction((tx) =>
        work({
          async query(statement, values = []) {
            if (typeof statement === "string" && statement.includes("delete from messages_default"))
              await onBatch({ text: statement, values: [...values] }, tx.query);
            return tx.query(statement, values);
          },
        }),
      ),
  };
}

t.test("many rows are deleted by several statements, which read the rows that are kept once", async (t) => {
  const { db, client } = await open(t);
  const other = { id: (await createClient(db, "o")).id };
  await applyRetention(RETENTION, db, NOON);
  await disableAutovacuum(db, ["messages_default", "sends"]);
  await db.query("analyze");
  for (const owner of [client, other]) await insertMessages(db, owner, 9_000);
  const read: number[] = [];
  const watching = watchBatches(db, async (batch, query) => {
    await query("savepoint explained");
    read.push(await countRowsRead({ query }, batch));
    await query("rollback to savepoint explained");
  });
  t.match(await applyRetention(RETENTION, watching, NOON), {
    message_rows_deleted: 12_000,
    message_rows_kept: 6_000,
  });
  t.ok(read.length >= 3, `${read.length} statements`);
  const total = read.reduce((sum, rows) => sum + rows, 0);
  t.ok(total < 6 * 18_000, `${total} rows are read for 18,000`);
});

t.test("a run that is stopped leaves the other batches to the next one", async (t) => {
  const { db, client } = await open(t);
  await insertMessages(db, client, 12_000);
  const stopping = new AbortController();
  const stopped = watchBatches(db, async () => stopping.abort());
  await t.rejects(applyRetention(RETENTION, stopped, NOON, { signal: stopping.signal }), {
    name: "AbortError",
  });
  const [left] = await db.query<{ count: number }>("select count(*)::integer from messages");
  t.ok((left?.count ?? 0) > 4_000, `${left?.count} messages are left`);
  await applyRetention(RETENTION, db, NOON);
  t.same(await db.query("select count(*)::integer from messages"), [{ count: 4_000 }]);
});
