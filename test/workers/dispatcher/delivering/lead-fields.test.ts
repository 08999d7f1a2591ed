import t from "tap";
import { JsonText } from "../../../../src/runtime/json/json.ts";
import { DEMO_ASSETS } from "../../../../src/schema/demo-assets.ts";
import { findEvent } from "../../../../src/store/events/events.ts";
import { createClient } from "../../../../src/store/tenants/clients.ts";
import { startBackend } from "../../../fixtures/events/backends.ts";
import { configureWebhook, makeEvents } from "../../../fixtures/events/events.ts";
import { startDispatcher } from "../../../fixtures/processes/dispatcher.ts";
import { callSandbox, startSandbox } from "../../../fixtures/sandbox/sandbox.ts";
import { makeChannel } from "../../../fixtures/tenants/channels.ts";
import { until } from "../../../fixtures/until.ts";

const LEAD = "120200000000000701";

t.test("the form fields of a lead are fetched before its first delivery and stored", async (t) => {
  const { origin, base } = await startSandbox(t);
  const dispatcher = await startDispatcher(t, { settings: { SOCIAL_PLATFORM_URL: base } });
  const client = await createClient(dispatcher.db, "c");
  const bodies: string[] = [];
  const backend = await startBackend(t, async (request, response) => {
    let body = "";
    for await (const chunk of request) body += chunk;
    bodies.push(body);
    response.writeHead(bodies.length === 1 ? 500 : 200).end();
  });
  await configureWebhook(dispatcher, client, { url: backend.url });
  const { pageId, pageToken: token } = DEMO_ASSETS;
  const channelId = await makeChannel(dispatcher, client, { platform: "socialapp", pageId, token });
  const deliverLead = async (leadId: string) => {
    const [before, raw] = [bodies.length, new JsonText(`{"leadgen_id": 12020000000000070199}`)];
    const data = { lead_id: leadId, page_id: pageId };
    const [id] = await makeEvents(dispatcher, client, {
      type: "lead.created",
      key: "marketing",
      channelId,
      data,
      raw,
    });
    await until("the event is delivered", () => bodies.length > before);
    return { id: id as string, body: bodies[before] as string };
  };
  const countLeadReads = async () =>
    (await callSandbox(`${origin}/_sandbox/requests`)).body.data.filter(({ path }: { path: string }) =>
      path.includes(LEAD),
    ).length;

  const { id, body } = await deliverLead(LEAD);
  t.match(JSON.parse(body).data, { lead_id: LEAD, fields: [{ name: "full_name", values: ["Ana Souza"] }] });
  t.ok(body.endsWith(`"raw":{"leadgen_id": 12020000000000070199}}`), "the rest is unchanged");
  t.equal(
    (await findEvent(dispatcher.db, client.id, id))?.payload,
    body,
    "the stored payload is the delivered one",
  );

  const retryNow = "update deliveries set next_attempt_at = now() where id = $1 and state = 'retrying'";
  await until("the retry arrives", async () => {
    await dispatcher.db.query(retryNow, [id]);
    return bodies.length === 2;
  });
  t.equal(bodies[1], body, "the retry has the same body");
  t.equal(await countLeadReads(), 1, "the fields are fetched once");

  const unknown = await deliverLead("120200000000000799");
  t.notOk("fields" in JSON.parse(unknown.body).data, "delivered without fields when the fetch fails");
  const line = dispatcher.lines.find(({ event }) => event === "lead.fetch_failed");
  t.match(line, { client: client.id, event_id: unknown.id, channel: channelId });
  t.notMatch(JSON.stringify(dispatcher.lines), token);
});
