import t, { type Test } from "tap";
import { deleteClient, eraseDeletedClients } from "../../../src/domain/tenants/delete-client.ts";
import { holdQueue, releaseQueue } from "../../../src/store/processes/queue-hold.ts";
import { markClientDeleted } from "../../../src/store/tenants/client-erasure.ts";
import { startClientBackend } from "../../fixtures/events/client-backend.ts";
import { queueEvents, times, untilDelivery } from "../../fixtures/events/deliveries.ts";
import { configureWebhook, readDelivery } from "../../fixtures/events/events.ts";
import {
  answerAccepted,
  queueMessages,
  startSendingContext,
  untilMessage,
} from "../../fixtures/messages/sending-context.ts";
import { makeChannel } from "../../fixtures/tenants/channels.ts";
import { makeTenant, type Tenant } from "../../fixtures/tenants/tenants.ts";
import { until } from "../../fixtures/until.ts";

const ROWS_OF_DELETED_CLIENT = 15;
const ROWS_OF_OTHER = 3;
const OPEN_REQUESTS = ROWS_OF_DELETED_CLIENT + ROWS_OF_OTHER;

/** A dispatcher with open requests of a client that is then deleted, and of another client. */
async function startDeletion(t: Test) {
  const context = await startSendingContext(t);
  const { platform } = context;
  const backend = await startClientBackend(t);
  let lastRecipient = 5511900000000;
  const queue = async (tenant: Tenant, channelId: string, count: number) => ({
    messages: await queueMessages(
      context,
      { tenant, channelId },
      ...times(count, () => ({ to: String(++lastRecipient) })),
    ),
    events: await queueEvents(context, tenant, ...times(count, () => ({}))),
  });
  const other = await makeTenant(context);
  const otherChannel = await makeChannel(context, other);
  for (const { id } of [context.tenant, other]) await configureWebhook(context, { id }, { url: backend.url });
  platform.pauseAnswers();
  backend.pauseAnswers();
  const deletedRows = await queue(context.tenant, context.channelId, ROWS_OF_DELETED_CLIENT);
  const queueOther = () => queue(other, otherChannel, ROWS_OF_OTHER);
  const otherRows = await queueOther();
  await until(
    "all requests are open",
    () => platform.openRequests() === OPEN_REQUESTS && backend.openRequests() === OPEN_REQUESTS,
  );
  const deleting = deleteClient(context.db, context.tenant.id);
  await until("the rows are erased", async () => (await countRows(context, "messages")) === 0);
  return { ...context, backend, deleting, deletedRows, otherRows, queueOther };
}

type Context = Awaited<ReturnType<typeof startDeletion>>;

const countRows = async ({ db, tenant }: Pick<Context, "db" | "tenant">, table: string): Promise<number> =>
  (await db.query(`select from ${table} where client_id = $1`, [tenant.id])).length;

function answerAll({ platform, backend }: Context): void {
  // The events that the outcomes of messages produce are delivered too.
  backend.answer = (response) => void response.writeHead(200).end();
  platform.answer = (response) => answerAccepted(response, "wamid.1");
  platform.release(OPEN_REQUESTS, (response) => answerAccepted(response, "wamid.1"));
  backend.release(OPEN_REQUESTS);
}

async function untilDone(
  context: Pick<Context, "db">,
  { messages, events }: Context["otherRows"],
): Promise<void> {
  for (const id of messages) await untilMessage(context, id, { status: "accepted", state: null });
  for (const id of events) await untilDelivery(context, id, { state: "delivered" });
}

t.test("messages in flight of a deleted client are finished, and nothing of it is left", async (t) => {
  const context = await startDeletion(t);
  t.equal(await countRows(context, "sends"), ROWS_OF_DELETED_CLIENT, "the messages are in flight");
  answerAll(context);
  t.equal(await context.deleting, true);
  await untilDone(context, context.otherRows);
  const countLost = (event: string) => context.lines.filter((line) => line.event === event).length;
  await until(
    "the outcomes of deliveries are dropped",
    () => countLost("delivery.lease_lost") === ROWS_OF_DELETED_CLIENT,
  );
  t.equal(countLost("message.lease_lost"), 0, "the sends were finished before they were erased");
  for (const table of ["events", "deliveries", "attempts", "messages", "sends"])
    t.equal(await countRows(context, table), 0, table);
  t.equal(context.platform.received.length, OPEN_REQUESTS, "each message is sent once");
});

t.test("other clients do not wait for the erasure", async (t) => {
  const context = await startDeletion(t);
  const { platform, backend } = context;
  backend.answer = (response) => void response.writeHead(200).end();
  platform.answer = (response) => answerAccepted(response, "wamid.1");
  await untilDone(context, await context.queueOther());
  answerAll(context);
  t.equal(await context.deleting, true);
});

t.test("messages and events of a deleted client that wait are not sent", async (t) => {
  const context = await startSendingContext(t);
  const { db, tenant, channelId, platform } = context;
  const backend = await startClientBackend(t);
  backend.answer = (response) => void response.writeHead(200).end();
  platform.answer = (response) => answerAccepted(response, "wamid.1");
  const other = await makeTenant(context);
  const clients = [
    { tenant, channelId },
    { tenant: other, channelId: await makeChannel(context, other) },
  ] as const;
  await holdQueue(db, { by: "an operator" });
  const rows: Context["otherRows"][] = [];
  for (const client of clients) {
    await configureWebhook(context, client.tenant, { url: backend.url });
    const messages = await queueMessages(context, client, {});
    rows.push({ messages, events: await queueEvents(context, client.tenant, {}) });
  }
  await markClientDeleted(db, tenant.id);
  await releaseQueue(db);
  await untilDone(context, rows[1] as Context["otherRows"]);
  t.equal(platform.received.length, 1);
  t.notOk(backend.received.some(({ id }) => rows[0]?.events.includes(id)));
  t.match(await readDelivery(context, rows[0]?.events[0] as string), { state: "pending", attempts: 0 });
  t.equal(await eraseDeletedClients(db), 1);
  t.equal(await countRows(context, "sends"), 0);
});
