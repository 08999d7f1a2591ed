import t, { type Test } from "tap";
import { startClientBackend } from "../../fixtures/events/client-backend.ts";
import { queueEvents, times, untilDelivery } from "../../fixtures/events/deliveries.ts";
import { configureWebhook } from "../../fixtures/events/events.ts";
import {
  answerAccepted,
  queueMessages,
  readMessageEvents,
  startSendingContext,
  untilMessage,
} from "../../fixtures/messages/sending-context.ts";
import { makeChannel } from "../../fixtures/tenants/channels.ts";
import { holdDeletion } from "../../fixtures/tenants/client-deletion.ts";
import { makeTenant, type Tenant } from "../../fixtures/tenants/tenants.ts";
import { until } from "../../fixtures/until.ts";

/** More than a batch writer may have unwritten when it starts a call. */
const ROWS_OF_DELETED_CLIENT = 15;

/** A dispatcher with open requests of a client whose deletion is then held open, and of two other clients. */
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
  const others = await Promise.all(
    times(2, async () => {
      const tenant = await makeTenant(context);
      return { tenant, channelId: await makeChannel(context, tenant) };
    }),
  );
  for (const { id } of [context.tenant, ...others.map(({ tenant }) => tenant)])
    await configureWebhook(context, { id }, { url: backend.url });
  platform.pauseAnswers();
  backend.pauseAnswers();
  const deletedRows = await queue(context.tenant, context.channelId, ROWS_OF_DELETED_CLIENT);
  const queueOthers = () => Promise.all(others.map(({ tenant, channelId }) => queue(tenant, channelId, 3)));
  const otherRows = await queueOthers();
  const openCount = ROWS_OF_DELETED_CLIENT + 6;
  await until(
    "all requests are open",
    () => platform.openRequests() === openCount && backend.openRequests() === openCount,
  );
  const end = await holdDeletion(t, context.config, context.tenant);
  // The events that the outcomes of messages produce are delivered too.
  backend.answer = (response) => void response.writeHead(200).end();
  platform.answer = (response) => answerAccepted(response, "wamid.1");
  platform.release(openCount, (response) => answerAccepted(response, "wamid.1"));
  backend.release(openCount);
  return { ...context, backend, end, deletedRows, otherRows, queueOthers };
}

type Context = Awaited<ReturnType<typeof startDeletion>>;

async function untilDone(context: Context, rows: readonly Context["deletedRows"][]): Promise<void> {
  for (const id of rows.flatMap(({ messages }) => messages))
    await untilMessage(context, id, { status: "accepted", state: null });
  for (const id of rows.flatMap(({ events }) => events))
    await untilDelivery(context, id, { state: "delivered" });
}

t.test("outcomes of other clients are written while a client is being deleted", async (t) => {
  const context = await startDeletion(t);
  await untilDone(context, context.otherRows);
  await untilDone(context, await context.queueOthers());
  await context.end("rollback");
  await untilDone(context, [context.deletedRows]);
  for (const id of context.deletedRows.messages)
    t.match(await readMessageEvents(context, id), [{ type: "message.send_result", outcome: "accepted" }]);
  const requests = context.backend.received.filter(({ id }) => context.deletedRows.events.includes(id));
  t.equal(requests.length, ROWS_OF_DELETED_CLIENT, "each delivery of the client is attempted once");
  t.equal(context.platform.received.length, ROWS_OF_DELETED_CLIENT + 12, "each message is sent once");
});

t.test("outcomes of a client are dropped once it is deleted", async (t) => {
  const context = await startDeletion(t);
  await untilDone(context, context.otherRows);
  await context.end("commit");
  const countLost = (event: string) => context.lines.filter((line) => line.event === event).length;
  await until(
    "the outcomes are dropped",
    () =>
      countLost("message.lease_lost") === ROWS_OF_DELETED_CLIENT &&
      countLost("delivery.lease_lost") === ROWS_OF_DELETED_CLIENT,
  );
  for (const table of ["events", "deliveries", "attempts", "messages", "sends"])
    t.same(await context.db.query(`select id from ${table} where client_id = $1`, [context.tenant.id]), []);
});
