import t from "tap";
import {
  DEMO_CHAT_TOKEN,
  formatRefusal,
  isSigned,
  PHONE_NUMBER,
  PHONE_NUMBER_ID,
  postJson,
  startSandboxWithReceiver,
  statusesOf,
  WABA_ID,
} from "../../fixtures/sandbox/assets.ts";
import { callSandbox } from "../../fixtures/sandbox/sandbox.ts";
import { until } from "../../fixtures/until.ts";

const BSUID = "US.13491208655302741918";
const text = { messaging_product: "whatsapp", type: "text", text: { body: "Hi" } };

type SandboxWithReceiver = Awaited<ReturnType<typeof startSandboxWithReceiver>>;

async function send({ base }: SandboxWithReceiver, message: object): Promise<string> {
  const answer = await postJson(`${base}/${PHONE_NUMBER_ID}/messages`, { ...text, ...message });
  return answer.body.messages[0].id;
}

/** Waits for these statuses of a message and sorts them, because webhooks can overtake each other. */
async function waitForStatuses({ received }: SandboxWithReceiver, wamid: string, ...expected: string[]) {
  const statuses = () => statusesOf(received, wamid);
  await until(`${expected} of ${wamid}`, () =>
    expected.every((expectedStatus) => statuses().some(({ status }) => status === expectedStatus)),
  );
  const order = ["sent", "delivered", "read", "played", "failed"];
  return statuses().sort((a, b) => order.indexOf(a.status) - order.indexOf(b.status));
}

const statusNames = (statuses: { status: string }[]) => statuses.map(({ status }) => status);

t.test("a message is reported as sent, delivered and read", async (t) => {
  const sandbox = await startSandboxWithReceiver(t, 0.1);
  const wamid = await send(sandbox, { to: "+5511999998888", biz_opaque_callback_data: "our-id-123" });
  const statuses = await waitForStatuses(sandbox, wamid, "sent", "delivered", "read");
  t.same(statusNames(statuses), ["sent", "delivered", "read"]);
  for (const { status, timestamp, ...rest } of statuses) {
    t.match(timestamp, /^\d{10}$/, `${status}: seconds as text`);
    t.match(rest, {
      id: wamid,
      recipient_id: "551199998888",
      recipient_user_id: /^BR\.\d+$/,
      biz_opaque_callback_data: "our-id-123",
      pricing: { billable: false, pricing_model: "PMP", type: "free_customer_service", category: "service" },
      contacts: [{ profile: { name: String }, wa_id: "551199998888", user_id: /^BR\.\d+$/ }],
      metadata: { display_phone_number: PHONE_NUMBER, phone_number_id: PHONE_NUMBER_ID },
    });
  }
  for (const webhook of sandbox.received) {
    t.ok(isSigned(webhook));
    t.same(Object.keys(webhook.body.entry[0]).sort(), ["changes", "id"], "without a time");
    t.equal(webhook.body.entry[0].id, WABA_ID);
  }
});

t.test("statuses of a scoped id contain no number", async (t) => {
  const sandbox = await startSandboxWithReceiver(t);
  const statuses = await waitForStatuses(sandbox, await send(sandbox, { recipient: BSUID }), "read");
  for (const status of statuses) {
    t.notOk("recipient_id" in status);
    t.equal(status.recipient_user_id, BSUID);
    t.match(status.contacts, [{ profile: { name: String, username: String }, user_id: BSUID }]);
    t.notOk("wa_id" in status.contacts[0]);
  }
});

t.test("a template is priced by its category", async (t) => {
  const sandbox = await startSandboxWithReceiver(t);
  await postJson(`${sandbox.base}/${WABA_ID}/message_templates`, {
    name: "instant_sale",
    language: "en",
    category: "MARKETING",
    components: [{ type: "BODY", text: "Everything must go." }],
  });
  const template = { name: "instant_sale", language: { code: "en" } };
  const wamid = await send(sandbox, { to: "16505551234", type: "template", template });
  const [sent] = await waitForStatuses(sandbox, wamid, "sent");
  t.match(sent.pricing, { billable: true, type: "regular", category: "marketing" });
});

t.test("a paused template is not sent", async (t) => {
  const { base } = await startSandboxWithReceiver(t);
  const { id } = (
    await postJson(`${base}/${WABA_ID}/message_templates`, {
      name: "pause_sale",
      language: "en",
      category: "MARKETING",
      components: [{ type: "BODY", text: "Everything must go." }],
    })
  ).body;
  await until(
    "the pause",
    async () => (await callSandbox(`${base}/${id}`, { token: DEMO_CHAT_TOKEN })).body.status === "PAUSED",
  );
  const template = { name: "pause_sale", language: { code: "en" } };
  const answer = await postJson(`${base}/${PHONE_NUMBER_ID}/messages`, {
    ...text,
    to: "16505551234",
    type: "template",
    template,
  });
  t.equal(formatRefusal(answer), "400 132015");
});

t.test("a voice message is reported as played", async (t) => {
  const sandbox = await startSandboxWithReceiver(t, 0.1);
  const audio = { link: "https://example.com/a.ogg", voice: true };
  const wamid = await send(sandbox, { to: "16505551234", type: "audio", audio });
  t.same(statusNames(await waitForStatuses(sandbox, wamid, "sent", "delivered", "read", "played")), [
    "sent",
    "delivered",
    "read",
    "played",
  ]);
});

const LATE_FAILURES = { "16505550000": 131026, "16505550049": 131049 };

t.test("a message to a recipient ending in 0000 or 0049 is accepted and fails later", async (t) => {
  const sandbox = await startSandboxWithReceiver(t);
  for (const [to, code] of Object.entries(LATE_FAILURES)) {
    const wamid = await send(sandbox, { to, biz_opaque_callback_data: "mine" });
    const [failed, ...more] = await waitForStatuses(sandbox, wamid, "failed");
    t.same(more, [], "no other status is sent");
    t.match(failed, {
      recipient_id: to,
      biz_opaque_callback_data: "mine",
      errors: [{ code, title: String, message: String, error_data: { details: String }, href: String }],
    });
    t.equal(failed.contacts, undefined);
    t.notOk("recipient_user_id" in failed || "pricing" in failed);
  }
});

t.test("a failed status contains the scoped id that the message was sent to", async (t) => {
  const sandbox = await startSandboxWithReceiver(t);
  const wamid = await send(sandbox, { recipient: "US.1110000" });
  t.match(await waitForStatuses(sandbox, wamid, "failed"), [
    { recipient_user_id: "US.1110000", errors: [{ code: 131026 }] },
  ]);
});

t.test("a message to a recipient ending in 0202 is read without a delivered status", async (t) => {
  const sandbox = await startSandboxWithReceiver(t, 0.1);
  const wamid = await send(sandbox, { to: "16505550202" });
  t.same(statusNames(await waitForStatuses(sandbox, wamid, "sent", "read")), ["sent", "read"]);
});

const FIRST_REFUSALS = {
  "16505550429": "400 130429",
  "16505550131": "400 131056",
  "16505550500": "500 131000",
};

t.test("the first message to a recipient ending in 0429, 0131 or 0500 is refused", async (t) => {
  const { base } = await startSandboxWithReceiver(t);
  for (const [to, first] of Object.entries(FIRST_REFUSALS)) {
    t.equal(formatRefusal(await postJson(`${base}/${PHONE_NUMBER_ID}/messages`, { ...text, to })), first);
    for (const time of ["second", "third"])
      t.equal(
        (await postJson(`${base}/${PHONE_NUMBER_ID}/messages`, { ...text, to })).status,
        200,
        `${to} ${time}`,
      );
  }
});

t.test("every message to a recipient ending in 0470 is refused with a closed window", async (t) => {
  const { base } = await startSandboxWithReceiver(t);
  for (let time = 0; time < 2; time += 1)
    t.equal(
      formatRefusal(await postJson(`${base}/${PHONE_NUMBER_ID}/messages`, { ...text, to: "16505550470" })),
      "400 131047",
    );
});

t.test("the inbox refuses each event about a message to a recipient ending in 0410 once", async (t) => {
  const sandbox = await startSandboxWithReceiver(t, 0.1);
  /** Delivers an event about a message to the inbox and returns the status of the answer. */
  const deliver = async (eventId: string, messageId: string | null, path = "/chat/updateMessage") => {
    const { status } = await callSandbox(`${sandbox.origin}/_sandbox/inbox${path}`, {
      json: { id: eventId, type: "message.send_result", data: { message_id: messageId } },
      headers: { "webhook-id": eventId },
    });
    return status;
  };
  t.equal(await deliver("evt_0", "msg_gone"), 200, "before the message is sent");
  await send(sandbox, { to: "16505551234", biz_opaque_callback_data: "msg_other" });
  const wamid = await send(sandbox, { to: "16505550410", biz_opaque_callback_data: "msg_gone" });
  t.same(statusNames(await waitForStatuses(sandbox, wamid, "sent", "delivered", "read")), [
    "sent",
    "delivered",
    "read",
  ]);
  for (const eventId of ["evt_1", "evt_2"]) {
    t.equal(await deliver(eventId, "msg_gone"), 410, `${eventId}, first delivery`);
    t.equal(await deliver(eventId, "msg_gone"), 200, `${eventId}, second delivery`);
  }
  t.equal(await deliver("evt_3", "msg_gone", ""), 410, "at the inbox itself");
  t.equal(await deliver("evt_4", "msg_other"), 200, "another message");
  t.equal(await deliver("evt_5", null), 200, "no message of the service");
});
