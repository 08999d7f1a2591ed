import { randomUUID } from "node:crypto";
import t from "tap";
import { makeDueChange, requestChange } from "../../../src/domain/batches/change-batch.ts";
import { newId } from "../../../src/runtime/ids.ts";
import {
  type DueChange,
  listDueChanges,
  MAX_COUNTED_MESSAGES,
} from "../../../src/store/batches/due-changes.ts";
import type { Queryable } from "../../../src/store/database/database.ts";
import { insertBatch, insertManyBatches } from "../../fixtures/messages/batch-rows.ts";
import { insertMessage, insertSend } from "../../fixtures/messages/message-rows.ts";
import { openSendQueue, type SendQueueContext } from "../../fixtures/messages/send-queue.ts";
import { countRowsRead } from "../../fixtures/servers/query-plans.ts";
import { until } from "../../fixtures/until.ts";

const ago = (seconds: number) => new Date(Date.now() - seconds * 1_000);

interface Outcome {
  count: number;
  code?: string;
  at?: Date;
}

/** A batch with a send that waits, and with finished messages. */
async function insertCase(context: SendQueueContext, outcomes: readonly Outcome[], columns: object = {}) {
  const { db, clientId, channelId } = context;
  const id = newId("bat");
  await insertBatch(
    context,
    { id: context.clientId },
    {
      channel_id: context.channelId,
      id,
      active_since: ago(60),
      first_message_id: "msg_0",
      last_message_id: "msg_z",
      ...columns,
    },
  );
  await insertWaiting(context, id);
  for (const { count, code, at = ago(1) } of outcomes)
    for (let index = 0; index < count; index += 1)
      await insertMessage(
        { db },
        { id: clientId },
        {
          ...{ channel_id: channelId, batch_id: id, status: code ? "failed" : "accepted" },
          ...{ error_code: code ?? null, finished_at: at, content: null },
        },
      );
  return id;
}

async function insertWaiting({ db, clientId, channelId }: SendQueueContext, batchId: string): Promise<void> {
  const message = await insertMessage({ db }, { id: clientId }, { channel_id: channelId, batch_id: batchId });
  await insertSend({ db }, { id: clientId }, { id: message, channel_id: channelId, batch_id: batchId });
}

const JUDGED: Record<string, [change: string | undefined, outcomes: Outcome[]]> = {
  "half of the messages fail": [undefined, [{ count: 20, code: "131026" }, { count: 20 }]],
  "more than half fail": ["failures", [{ count: 21, code: "131026" }, { count: 20 }]],
  "fewer than 20 are finished": [undefined, [{ count: 19, code: "131026" }]],
  "20 are finished": ["failures", [{ count: 20, code: "131026" }]],
  "they fail with several codes": [
    undefined,
    [
      { count: 20, code: "131026" },
      { count: 20, code: "131051" },
    ],
  ],
  "subcodes differ": [
    "failures",
    [
      { count: 15, code: "100/33" },
      { count: 15, code: "100/2018001" },
    ],
  ],
  "the failures are not the platform's": [undefined, [{ count: 40, code: "expired" }]],
  "only the last 50 count": [
    "failures",
    [
      { count: 60, at: ago(30) },
      { count: 26, code: "131026" },
    ],
  ],
  "earlier ones than the last 50 do not count": [
    undefined,
    [{ count: 60, code: "131026", at: ago(30) }, { count: 25 }],
  ],
  "they failed before the batch was resumed": [undefined, [{ count: 40, code: "131026", at: ago(90) }]],
  "the platform refuses the template": ["template", [{ count: 1, code: "132015" }, { count: 40 }]],
};

t.test("the last messages decide whether a batch pauses", async (t) => {
  for (const [name, [change, outcomes]] of Object.entries(JUDGED)) {
    const context = await openSendQueue(t);
    const id = await insertCase(context, outcomes);
    t.same(
      (await listDueChanges(context.db, 10)).filter((found) => found.id === id).map((found) => found.change),
      change ? [change] : [],
      name,
    );
  }
});

t.test("a batch that is paused, finished or scheduled for later needs no change", async (t) => {
  const context = await openSendQueue(t);
  const failures = [{ count: 30, code: "131026" }];
  await insertCase(context, failures, { status: "paused", pause_reason: "failures", paused_at: ago(1) });
  await insertCase(context, failures, { status: "finished", finished_at: ago(1) });
  await insertCase(context, failures, { status: "scheduled", send_at: ago(-60) });
  await insertCase(context, failures, { status: "cancelled", finished_at: ago(1) });
  const due = await insertCase(context, [], { status: "scheduled", send_at: ago(0) });
  const rest = await insertCase(context, [], { status: "cancelled" });
  const changes = (await listDueChanges(context.db, 10)).filter(
    ({ client_id }) => client_id === context.clientId,
  );
  t.same(
    changes.map(({ id, change }) => [id, change]).sort(),
    [
      [due, "start"],
      [rest, "cancel_rest"],
    ].sort(),
  );
});

t.test("pauses come first, then clients take turns", async (t) => {
  const context = await openSendQueue(t);
  const { db, clientId, channelId } = context;
  const otherId = randomUUID();
  const scheduled = { status: "scheduled", send_at: ago(0) };
  for (const client of [clientId, clientId, clientId, otherId]) {
    const id = await insertBatch({ db }, { id: client }, { channel_id: channelId, ...scheduled });
    await insertWaiting({ ...context, clientId: client }, id);
  }
  const paused = await insertCase(context, [{ count: 30, code: "131026" }]);
  const [first, ...starts] = (await listDueChanges(db, 4)).filter(({ client_id }) =>
    [clientId, otherId].includes(client_id),
  );
  t.match(first, { id: paused, change: "failures" });
  t.same(
    starts.map(({ change }) => change),
    ["start", "start", "start"],
  );
  t.same(new Set(starts.slice(0, 2).map(({ client_id }) => client_id)), new Set([clientId, otherId]));
});

t.test("clients take turns to come first", async (t) => {
  const context = await openSendQueue(t);
  const { db, clientId, channelId } = context;
  const senders = [clientId, randomUUID(), randomUUID()].map((id) => ({ clientId: id, channelId }));
  await insertManyBatches(context, { senders, count: 9, messages: 1 });
  const found = new Set<string | undefined>();
  await until("each client has come first", async () => {
    const [first] = await listDueChanges(db, 1);
    found.add(first?.client_id);
    return found.size === senders.length;
  });
});

t.test("the list counts the messages of a start, up to a limit", async (t) => {
  const context = await openSendQueue(t);
  const [small] = await insertManyBatches(context, { senders: [context], count: 1, messages: 3 });
  const [large] = await insertManyBatches(context, { senders: [context], count: 1, messages: 1_100 });
  t.same(
    new Map((await listDueChanges(context.db, 10)).map(({ id, messages }) => [id, messages])),
    new Map([
      [small, 3],
      [large, MAX_COUNTED_MESSAGES],
    ]),
  );
});

t.test("the list does not read the messages that wait in unfinished batches", async (t) => {
  const context = await openSendQueue(t);
  const { db } = context;
  const batches = 400;
  await insertManyBatches(context, { senders: [context], count: batches, messages: 10, status: "running" });
  await db.query("analyze");
  const statements: { text: string; values: unknown[] }[] = [];
  const recording: Queryable = {
    async query(statement, values = []) {
      statements.push({
        text: typeof statement === "string" ? statement : statement.text,
        values: [...values],
      });
      return [];
    },
  };
  await listDueChanges({ ...db, transaction: (work) => work(recording) }, 100);
  const read = await db.transaction(async (tx) => {
    const [settings, list] = statements;
    await tx.query(settings?.text ?? "");
    return countRowsRead(tx, list ?? { text: "", values: [] });
  });
  t.ok(read < 4 * batches, `it reads ${read} rows`);
});

t.test("a batch that was resumed is not paused for what was found before", async (t) => {
  const context = await openSendQueue(t);
  const { db, clientId } = context;
  const id = await insertCase(context, [{ count: 30, code: "131026" }]);
  const [due] = await listDueChanges(db, 10);
  const notifier = { notify: () => {} };
  const parts = { db, notifier, messageNotifier: notifier };
  const request = (name: "pause" | "resume") =>
    requestChange(parts, { clientId, batchId: id, request: name });
  const pauseForFailures = (batch: DueChange | undefined) =>
    makeDueChange(parts, { change: "failures", batches: batch ? [batch] : [] }, {});
  await request("pause");
  await request("resume");
  t.same(await pauseForFailures(due), []);
  t.match(await listDueChanges(db, 10), []);
  await db.query("update messages set finished_at = now() where finished_at is not null");
  const [again] = await listDueChanges(db, 10);
  t.match(await pauseForFailures(again), [{ id }]);
});
