import t, { type Test } from "tap";
import { startClientBackend } from "../../fixtures/events/client-backend.ts";
import { queueEvent, untilDelivery } from "../../fixtures/events/deliveries.ts";
import { configureWebhook } from "../../fixtures/events/events.ts";
import {
  answerAccepted,
  platformSettings,
  queueMessage,
  startMessagePlatform,
  untilMessage,
} from "../../fixtures/messages/sending-context.ts";
import { startDispatcher } from "../../fixtures/processes/dispatcher.ts";
import { recordWork } from "../../fixtures/recorded-work.ts";
import { makeChannel } from "../../fixtures/tenants/channels.ts";
import { makeTenant } from "../../fixtures/tenants/tenants.ts";
import { until } from "../../fixtures/until.ts";

async function startTracked(t: Test) {
  const { tracker, calls } = recordWork();
  const platform = await startMessagePlatform(t);
  const dispatcher = await startDispatcher(t, { settings: platformSettings(platform), tracker });
  const tenant = await makeTenant(dispatcher);
  /** The calls of one tracked work, without its label. */
  const callsOf = (label: string) =>
    calls.filter((call) => call.endsWith(` ${label}`)).map((call) => call.slice(0, -label.length - 1));
  const untilEnded = (label: string) => until(`${label} has ended`, () => callsOf(label).includes("end"));
  return { dispatcher, platform, tenant, callsOf, untilEnded };
}

t.test("a delivery is tracked by its ids and resumed when the answer has arrived", async (t) => {
  const { dispatcher, tenant, callsOf, untilEnded } = await startTracked(t);
  const backend = await startClientBackend(t);
  await configureWebhook(dispatcher, tenant, { url: backend.url });
  backend.pauseAnswers();
  const id = await queueEvent(dispatcher, tenant);
  const label = `delivery ${id} client ${tenant.id}`;
  await until("the request has arrived", () => backend.received.length > 0);
  t.same(callsOf(label), ["begin", "resume"]);
  backend.release();
  await untilEnded(label);
  // Resumed for the excerpt of the answer, and for the record of the outcome.
  t.same(callsOf(label), ["begin", "resume", "resume", "resume", "end"]);
  await untilDelivery(dispatcher, id, { state: "delivered" });
});

t.test("a message is tracked by its ids and resumed when the answer has arrived", async (t) => {
  const { dispatcher, platform, tenant, callsOf, untilEnded } = await startTracked(t);
  const channelId = await makeChannel(dispatcher, tenant);
  platform.pauseAnswers();
  const id = await queueMessage({ ...dispatcher, tenant, channelId });
  const label = `message ${id} client ${tenant.id}`;
  await until("the request has arrived", () => platform.received.length > 0);
  t.same(callsOf(label), ["begin", "resume"]);
  platform.release(1, (response) => answerAccepted(response, "wamid.1"));
  await untilEnded(label);
  t.same(callsOf(label), ["begin", "resume", "resume", "end"]);
  await untilMessage(dispatcher, id, { status: "accepted" });
});
