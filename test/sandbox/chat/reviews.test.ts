import t from "tap";
import {
  removeTemplate,
  storeTemplate,
  type Template,
} from "../../../src/sandbox/chat/templates/template.ts";
import { scheduleReview } from "../../../src/sandbox/chat/templates/template-review.ts";
import type { SandboxContext } from "../../../src/sandbox/context.ts";
import {
  changesOf,
  DEMO_CHAT_TOKEN,
  isSigned,
  postJson,
  startSandboxWithReceiver,
  WABA_ID,
} from "../../fixtures/sandbox/assets.ts";
import { callSandbox } from "../../fixtures/sandbox/sandbox.ts";
import { until } from "../../fixtures/until.ts";

const submit = (base: string, name: string, rest: object = {}) =>
  postJson(`${base}/${WABA_ID}/message_templates`, {
    name,
    language: "pt_BR",
    category: "UTILITY",
    components: [{ type: "BODY", text: "Your order is on its way." }],
    ...rest,
  });

const STATUS_FIELD = "message_template_status_update";

t.test("an approval is sent as a signed webhook with the id as a bare number", async (t) => {
  const { base, received } = await startSandboxWithReceiver(t);
  const { id } = (await submit(base, "hello_again")).body;
  const update = await until("the review", () => received[0]);
  t.ok(isSigned(update));
  t.match(update.raw, `"message_template_id":${id},`, "as digits, too long for a double");
  t.match(update.body, {
    object: "whatsapp_business_account",
    entry: [
      {
        id: WABA_ID,
        time: Number,
        changes: [
          {
            field: STATUS_FIELD,
            value: {
              event: "APPROVED",
              message_template_name: "hello_again",
              message_template_language: "pt-BR",
              message_template_category: "UTILITY",
              reason: "NONE",
            },
          },
        ],
      },
    ],
  });
  t.match((await callSandbox(`${base}/${id}`, { token: DEMO_CHAT_TOKEN })).body, { status: "APPROVED" });
});

t.test("a template named reject_ is rejected with a reason", async (t) => {
  const { base, received } = await startSandboxWithReceiver(t);
  const { id } = (await submit(base, "reject_me")).body;
  const update = await until("the review", () => changesOf(received, STATUS_FIELD)[0]);
  t.match(update, {
    event: "REJECTED",
    reason: "INVALID_FORMAT",
    rejection_info: { reason: String, recommendation: String },
  });
  const query = { fields: "status,rejected_reason" };
  t.same((await callSandbox(`${base}/${id}`, { token: DEMO_CHAT_TOKEN, query })).body, {
    id,
    status: "REJECTED",
    rejected_reason: "INVALID_FORMAT",
  });
});

t.test("a template named pause_ is approved and then paused", async (t) => {
  const { base, received } = await startSandboxWithReceiver(t);
  const { id } = (await submit(base, "pause_me")).body;
  const paused = await until("the pause", () =>
    changesOf(received, STATUS_FIELD).find(({ event }) => event === "PAUSED"),
  );
  t.match(paused, { other_info: { title: "FIRST_PAUSE" } });
  t.ok(changesOf(received, STATUS_FIELD).some(({ event }) => event === "APPROVED"));
  t.equal((await callSandbox(`${base}/${id}`, { token: DEMO_CHAT_TOKEN })).body.status, "PAUSED");
});

t.test("a template named recategorise_ becomes MARKETING", async (t) => {
  const { base, received } = await startSandboxWithReceiver(t);
  const { body } = await submit(base, "recategorise_me");
  t.match(body, { status: "PENDING", category: "MARKETING" });
  const update = await until("the new category", () => changesOf(received, "template_category_update")[0]);
  t.match(update, {
    message_template_name: "recategorise_me",
    previous_category: "UTILITY",
    new_category: "MARKETING",
  });
  await until("the approval", () => changesOf(received, STATUS_FIELD).length > 0);
  t.equal((await callSandbox(`${base}/${body.id}`, { token: DEMO_CHAT_TOKEN })).body.category, "MARKETING");
});

t.test("a template named instant_ is approved in the answer", async (t) => {
  const { base, received } = await startSandboxWithReceiver(t);
  t.match((await submit(base, "instant_one")).body, { status: "APPROVED", category: "UTILITY" });
  const update = await until("the webhook of the approval", () => changesOf(received, STATUS_FIELD)[0]);
  t.equal(update.event, "APPROVED");
});

t.test("a template deleted during its review sends no webhook", async (t) => {
  const [sent, timers]: [unknown[], (() => void)[]] = [[], []];
  const context = {
    schedule: (_, work) => void timers.push(work),
    webhooks: { send: (webhook) => sent.push(webhook) > 0 },
  } as Pick<SandboxContext, "schedule" | "webhooks"> as SandboxContext;
  const submitted = (id: string) => ({ id, waba: WABA_ID, name: "any", status: "PENDING" }) as Template;
  const [deleted, kept] = [submitted("1"), { ...submitted("2"), language: "en" }];
  for (const template of [deleted, kept]) {
    storeTemplate(context, template);
    scheduleReview(context, template);
  }
  removeTemplate(context, deleted);
  for (const run of timers) run();
  t.equal(sent.length, 1);
  t.match(sent, [{ entry: [{ changes: [{ value: { message_template_id: 2n } }] }] }]);
});
