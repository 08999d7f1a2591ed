import type { Test } from "tap";
import t from "tap";
import { DAY } from "../../../src/runtime/durations.ts";
import { firstIdAt } from "../../../src/runtime/ids.ts";
import { createDatabase, type Database } from "../../../src/store/database/database.ts";
import { dropPartitions, EVENT_TABLES, MESSAGE_TABLES } from "../../../src/store/database/partitions.ts";
import { createClient } from "../../../src/store/tenants/clients.ts";
import { applyRetention } from "../../../workers/scheduler/maintenance.ts";
import { insertBatch } from "../../fixtures/messages/batch-rows.ts";
import { insertMessage, insertSend } from "../../fixtures/messages/message-rows.ts";
import { testConfig } from "../../fixtures/processes/settings.ts";

const NOON = Date.UTC(2030, 4, 10, 12);
/** Events are kept: their ids have the real time. */
const RETENTION = { EVENT_RETENTION_DAYS: 3_650, MESSAGE_RETENTION_DAYS: 3 };

async function open(t: Test) {
  const config = await testConfig(t);
  const db = createDatabase(config, () => {});
  t.teardown(() => db.close());
  for (const history of [EVENT_TABLES, MESSAGE_TABLES]) await dropPartitions(db, history, Date.UTC(2100, 0)); // every process creates these at its start
  return {
    db,
    client: { id: (await createClient(db, "c")).id },
    other: { id: (await createClient(db, "o")).id },
  };
}

type Client = { id: string };

const idAt = (prefix: "msg" | "bat", time: number, digit: number) =>
  `${firstIdAt(prefix, time)}${String(digit).repeat(16)}`;

/** Inserts a message of that time, and its send if it has a state. */
async function makeMessage(
  db: Database,
  client: Client,
  { id, state, batch_id }: { id: string; state?: string; batch_id?: string },
): Promise<void> {
  await insertMessage({ db }, client, { id, batch_id: batch_id ?? null });
  if (state) await insertSend({ db }, client, { id, state, batch_id: batch_id ?? "" });
}

const listIds = async (db: Database, table: "messages" | "batches"): Promise<string[]> =>
  (await db.query<{ id: string }>(`select id from ${table} order by id`)).map(({ id }) => id);

t.test(
  "messages that are still to be sent are kept when the partition of their time is dropped",
  async (t) => {
    for (const state of ["scheduled", "behind", "waiting", "claimed", "unknown"])
      t.test(state, async (t) => {
        const { db, client, other } = await open(t);
        const stray = idAt("msg", NOON - 40 * DAY, 1);
        const [needed, settled, next] = [
          idAt("msg", NOON, 1),
          idAt("msg", NOON, 2),
          idAt("msg", NOON + DAY, 1),
        ];
        await makeMessage(db, client, { id: stray, state });
        await makeMessage(db, client, { id: idAt("msg", NOON - 40 * DAY, 2) });
        await applyRetention(RETENTION, db, NOON);
        await makeMessage(db, client, { id: needed, state });
        await makeMessage(db, other, { id: settled });
        await makeMessage(db, other, { id: next });
        const isKept = state !== "unknown";
        const counts = await applyRetention(RETENTION, db, NOON + 4 * DAY);
        t.match(counts, { message_partitions_dropped: 1 });
        t.same(await listIds(db, "messages"), isKept ? [stray, needed, next] : [next]);
        await db.query("delete from sends");
        await applyRetention(RETENTION, db, NOON + 4 * DAY);
        t.same(await listIds(db, "messages"), [next], "after they were sent");
      });
  },
);

t.test("unfinished batches are cancelled after the retention, and after 31 days at least", async (t) => {
  const { db, client, other } = await open(t);
  const channel_id = "ch_of_a_test";
  const accepted = NOON - 32 * DAY;
  await applyRetention(RETENTION, db, accepted);
  const [message, batch_id] = [idAt("msg", accepted, 1), idAt("bat", accepted, 1)];
  await insertBatch({ db }, client, { id: batch_id, channel_id, status: "paused", messages: [message] });
  await makeMessage(db, client, { id: message, state: "waiting", batch_id });
  const [young, later, ofOther] = [
    await insertBatch({ db }, client, { id: idAt("bat", NOON - 30 * DAY, 2), channel_id, status: "paused" }),
    await insertBatch({ db }, client, {
      id: idAt("bat", accepted, 3),
      channel_id,
      status: "scheduled",
      send_at: new Date(NOON - 2 * DAY),
    }),
    await insertBatch({ db }, other, { id: idAt("bat", NOON - 30 * DAY, 4), channel_id }),
  ];
  const all = [batch_id, young, later, ofOther].sort();
  t.match(await applyRetention(RETENTION, db, NOON - 2 * DAY), { batches_cancelled: 0, batches_deleted: 0 });
  const long = { ...RETENTION, MESSAGE_RETENTION_DAYS: 40 };
  t.match(await applyRetention(long, db, NOON), { batches_cancelled: 0, batches_deleted: 0 });
  t.same(await listIds(db, "batches"), all);
  t.match(await applyRetention(RETENTION, db, NOON), { batches_cancelled: 1, batches_deleted: 1 });
  t.same(
    await listIds(db, "batches"),
    all.filter((id) => id !== batch_id),
  );
  t.same(await listIds(db, "messages"), [], "its messages have passed their retention");
  const events = await db.query<{ client_id: string; payload: string }>(
    "select client_id, payload from events where type = 'batch.updated'",
  );
  t.match(
    events.map(({ client_id, payload }) => [client_id, JSON.parse(payload).data]),
    [[client.id, { batch_id, status: "cancelled", pause_reason: null, counts: { cancelled: 1 } }]],
  );
});

t.test(
  "a finished batch is deleted with its last message, and an unfinished one keeps all of its own",
  async (t) => {
    const { db, client, other } = await open(t);
    await applyRetention(RETENTION, db, NOON);
    const messages = [1, 2, 3].map((digit) => idAt("msg", NOON, digit));
    const batches = [1, 2].map((digit) => idAt("bat", NOON, digit)) as [string, string];
    const columns = { channel_id: "ch_of_a_test" };
    const done = { ...columns, status: "cancelled", finished_at: new Date(), messages: messages.slice(0, 1) };
    await insertBatch({ db }, client, { ...done, id: batches[0] });
    await insertBatch({ db }, other, { ...columns, id: batches[1], messages: messages.slice(1) });
    for (const [index, id] of messages.entries())
      await makeMessage(db, index === 0 ? client : other, { id, batch_id: batches[index === 0 ? 0 : 1] });
    t.match(await applyRetention(RETENTION, db, NOON + 2 * DAY), { batches_deleted: 0 });
    t.match(await applyRetention(RETENTION, db, NOON + 4 * DAY), { batches_deleted: 1 });
    t.same(await listIds(db, "batches"), [batches[1]]);
    t.same(await listIds(db, "messages"), messages.slice(1), "they are counted, although they were sent");
  },
);
