import type { Test } from "tap";
import t from "tap";
import { MINUTE } from "../../../../src/runtime/durations.ts";
import type { Database } from "../../../../src/store/database/database.ts";
import { createClient } from "../../../../src/store/tenants/clients.ts";
import { createBatchSupervision } from "../../../../workers/dispatcher/sending/batches.ts";
import { captureLog } from "../../../fixtures/captured-log.ts";
import { checkEventsAtEnd } from "../../../fixtures/events/stored-events.ts";
import { insertManyBatches } from "../../../fixtures/messages/batch-rows.ts";
import { readBatchEvents } from "../../../fixtures/messages/batches.ts";
import { openSendQueue } from "../../../fixtures/messages/send-queue.ts";
import { connectRawClient } from "../../../fixtures/servers/servers.ts";
import { watchStatements } from "../../../fixtures/servers/statements.ts";
import { makeChannel } from "../../../fixtures/tenants/channels.ts";

/** Clients with due batches, and a supervision whose statements are recorded. */
async function open(
  t: Test,
  {
    clients,
    count,
    messages = 1,
    ...limits
  }: Record<"clients" | "count", number> & { messages?: number; maxRunMs?: number; statementMs?: number },
) {
  const context = await openSendQueue(t);
  const { db } = context;
  checkEventsAtEnd(t, db);
  const senders = [{ clientId: context.clientId, channelId: context.channelId }];
  while (senders.length < clients) {
    const { id } = await createClient(db, "Another client");
    senders.push({ clientId: id, channelId: await makeChannel(context, { id }) });
  }
  const due = await insertManyBatches(context, { senders, count, messages });
  const { log, lines } = captureLog();
  const watched = watchStatements();
  const notifier = { notify: () => {} };
  const parts = { db: watched.database(db), log, notifier, messageNotifier: notifier };
  const supervise = createBatchSupervision({ ...parts, ...limits });
  /** The changes that were made, in their order. */
  const changes = () => lines.map(({ change }) => change);
  const countStatements = (pattern: RegExp) => watched.statements.filter((text) => pattern.test(text)).length;
  return { ...context, senders, due, supervise, changes, countStatements };
}

const countBatches = async (db: Database, status: string): Promise<number> =>
  (await db.query("select from batches where status = $1", [status])).length;

t.test("batches that are due together are started by few statements", async (t) => {
  const { db, due, supervise, changes, countStatements } = await open(t, {
    clients: 20,
    count: 200,
    messages: 3,
  });
  while ((await supervise()) === "unfinished");
  t.equal(changes().filter((change) => change === "start").length, 200);
  t.equal(await countBatches(db, "running"), 200);
  t.same(await db.query("select state, count(*)::integer as count from sends group by 1"), [
    { state: "waiting", count: 600 },
  ]);
  t.same(await db.query("select from messages where status <> 'queued'"), []);
  for (const id of due.slice(0, 3))
    t.match(await readBatchEvents({ db }, id), [{ status: "running", counts: { queued: 3 } }]);
  t.equal((await db.query("select from events where type = 'batch.updated'")).length, 200);
  t.equal(countStatements(/set status = 'running'/), 2, "a hundred in each transaction");
  t.equal(countStatements(/insert into events/), 2);
});

t.test("two dispatchers that supervise the same batches start each of them once", async (t) => {
  const { db, supervise, changes } = await open(t, { clients: 5, count: 100 });
  await Promise.all([supervise(), supervise(), supervise()]);
  t.equal(changes().length, 100);
  t.equal((await db.query("select from events where type = 'batch.updated'")).length, 100);
});

t.test("a pause that becomes due while batches are started is made before the rest of them", async (t) => {
  const context = await open(t, { clients: 4, count: 300, maxRunMs: 0 });
  const { db, supervise, changes } = context;
  t.equal(await supervise(), "unfinished");
  const started = changes().length;
  t.ok(started > 0 && started < 300, `${started} are started`);
  await db.query("update channels set status = 'needs_reauth'");
  await supervise();
  t.same(
    changes().slice(started),
    Array.from({ length: started }, () => "channel"),
  );
});

t.test("a batch that cannot be started does not keep the others from starting", async (t) => {
  const { db, due, supervise } = await open(t, { clients: 3, count: 60, maxRunMs: MINUTE });
  const [broken] = due;
  await db.query(
    `alter table batches add constraint broken check (id <> '${broken}' or status = 'scheduled')`,
  );
  await t.rejects(supervise(), { message: /broken/ });
  t.equal(await countBatches(db, "running"), 59);
  t.equal(await countBatches(db, "scheduled"), 1);
  t.same(await readBatchEvents({ db }, broken as string), []);
});

t.test("a batch whose change takes too long does not keep the others from starting", async (t) => {
  const { db, config, due, supervise } = await open(t, {
    ...{ clients: 3, count: 40 },
    ...{ maxRunMs: 100, statementMs: 300 },
  });
  const runUntil = async (running: number) => {
    for (let runs = 0; runs < 100 && (await countBatches(db, "running")) < running; runs++)
      await supervise().catch(() => {});
  };
  const raw = await connectRawClient(t, config.DATABASE_URL);
  await raw.query("begin");
  await raw.query("select from batches where id = $1 for update", [due[30]]);
  await t.rejects(supervise(), /statement timeout/);
  t.equal(await countBatches(db, "running"), 0, "all were in one transaction");
  await runUntil(39);
  t.equal(await countBatches(db, "running"), 39);
  await raw.query("rollback");
  await runUntil(40);
  t.equal(await countBatches(db, "running"), 40);
});

t.test("a large batch is started whole, in a transaction of its own", async (t) => {
  const context = await open(t, { clients: 1, count: 5 });
  const { db, senders, supervise, countStatements } = context;
  await insertManyBatches(context, { senders, count: 1, messages: 1_500 });
  while ((await supervise()) === "unfinished");
  t.same(await db.query("select state, count(*)::integer as count from sends group by 1"), [
    { state: "waiting", count: 1_505 },
  ]);
  t.ok(countStatements(/set status = 'running'/) > 1);
});
