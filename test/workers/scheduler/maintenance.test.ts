import type { Test } from "tap";
import t from "tap";
import { DAY, SECOND } from "../../../src/runtime/durations.ts";
import type { Database } from "../../../src/store/database/database.ts";
import { createClient } from "../../../src/store/tenants/clients.ts";
import { insertBatch } from "../../fixtures/messages/batch-rows.ts";
import { insertMessage, insertSend } from "../../fixtures/messages/message-rows.ts";
import {
  applyRetention,
  idAt,
  openWithoutPartitions,
  partitionById,
} from "../../fixtures/processes/retention.ts";

const NOON = Date.UTC(2030, 4, 10, 12);
/** Events are kept: their ids have the real time. */
const RETENTION = { EVENT_RETENTION_DAYS: 3_650, MESSAGE_RETENTION_DAYS: 3 };

async function open(t: Test) {
  const { db } = await openWithoutPartitions(t);
  return {
    db,
    client: { id: (await createClient(db, "c")).id },
    other: { id: (await createClient(db, "o")).id },
  };
}

type Client = { id: string };

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
  "a partition with messages that are still to be sent stays without its other messages, and is dropped when they were sent",
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
        const counts = await applyRetention(RETENTION, db, NOON + 4 * DAY);
        t.match(counts, { message_partitions_dropped: 0, message_rows_deleted: 1, message_rows_kept: 2 });
        t.same(await partitionById(db, "messages"), {
          [stray]: "messages_default",
          [needed]: "messages_20300510",
          [next]: "messages_20300511",
        });
        await db.query("delete from sends");
        const later = await applyRetention(RETENTION, db, NOON + 4 * DAY);
        t.match(later, { message_partitions_dropped: 1, message_rows_deleted: 1, message_rows_kept: 0 });
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
    const insert = async (
      owner: Client,
      digit: number,
      columns: { status: string; finished_at?: Date },
    ): Promise<{ id: string; messages: string[] }> => {
      const messages = [0, 1, 2].map((second) => idAt("msg", NOON + second * SECOND, digit));
      const batch = { ...columns, id: idAt("bat", NOON, digit), channel_id: "ch_of_a_test", messages };
      const batch_id = await insertBatch({ db }, owner, batch);
      for (const id of messages) await makeMessage(db, owner, { id, batch_id });
      return { id: batch_id, messages };
    };
    const finished_at = new Date();
    await insert(client, 1, { status: "cancelled", finished_at });
    const unknown = await insert(client, 2, { status: "finished", finished_at });
    const [kept] = unknown.messages.slice(1) as [string];
    await insertSend({ db }, client, { id: kept, state: "unknown", batch_id: unknown.id });
    const running = await insert(other, 3, { status: "running" });
    const paused = await insert(client, 4, { status: "paused" });
    t.match(await applyRetention(RETENTION, db, NOON + 2 * DAY), { batches_deleted: 0 });
    t.match(await applyRetention(RETENTION, db, NOON + 4 * DAY), {
      message_partitions_dropped: 0,
      message_rows_deleted: 5,
      batches_deleted: 1,
    });
    t.same(await listIds(db, "batches"), [unknown.id, running.id, paused.id]);
    t.same(
      (await listIds(db, "messages")).sort(),
      [kept, ...running.messages, ...paused.messages].sort(),
      "those of unfinished batches are counted, although they were sent",
    );
    await db.query("delete from sends");
    await db.query(
      "update batches set status = 'finished', pause_reason = null, paused_at = null, finished_at = now()",
    );
    t.match(await applyRetention(RETENTION, db, NOON + 4 * DAY), {
      message_partitions_dropped: 1,
      batches_deleted: 3,
    });
    t.same(await listIds(db, "messages"), []);
  },
);
