import t from "tap";
import {
  changesOf,
  DEMO_CHAT,
  isSigned,
  post,
  startWithReceiver,
  WABA,
} from "../../fixtures/sandbox/assets.ts";
import { speak } from "../../fixtures/sandbox/sandbox.ts";
import { until } from "../../fixtures/until.ts";

const submit = (base: string, name: string, rest: object = {}) =>
  post(`${base}/${WABA}/message_templates`, {
    name,
    language: "pt_BR",
    category: "UTILITY",
    components: [{ type: "BODY", text: "Your order is on its way." }],
    ...rest,
  });

const FIELD = "message_template_status_update";

t.test("an approval is told in a signed webhook, its id a bare number", async (t) => {
  const { base, received } = await startWithReceiver(t);
  const { id } = (await submit(base, "hello_again")).body;
  const update = await until("the review", () => received[0]);
  t.ok(isSigned(update));
  t.match(update.raw, `"message_template_id":${id},`, "as digits, too long for a double");
  t.match(update.body, {
    object: "whatsapp_business_account",
    entry: [
      {
        id: WABA,
        time: Number,
        changes: [
          {
            field: FIELD,
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
  t.match((await speak(`${base}/${id}`, { token: DEMO_CHAT })).body, { status: "APPROVED" });
});

t.test("a name that begins with reject_ is rejected, and why", async (t) => {
  const { base, received } = await startWithReceiver(t);
  const { id } = (await submit(base, "reject_me")).body;
  const update = await until("the review", () => changesOf(received, FIELD)[0]);
  t.match(update, {
    event: "REJECTED",
    reason: "INVALID_FORMAT",
    rejection_info: { reason: String, recommendation: String },
  });
  const query = { fields: "status,rejected_reason" };
  t.same((await speak(`${base}/${id}`, { token: DEMO_CHAT, query })).body, {
    id,
    status: "REJECTED",
    rejected_reason: "INVALID_FORMAT",
  });
});

t.test("a name that begins with pause_ is approved and then paused", async (t) => {
  const { base, received } = await startWithReceiver(t);
  const { id } = (await submit(base, "pause_me")).body;
  const paused = await until("the pause", () =>
    changesOf(received, FIELD).find(({ event }) => event === "PAUSED"),
  );
  t.match(paused, { other_info: { title: "FIRST_PAUSE" } });
  t.ok(changesOf(received, FIELD).some(({ event }) => event === "APPROVED"));
  t.equal((await speak(`${base}/${id}`, { token: DEMO_CHAT })).body.status, "PAUSED");
});

t.test("a name that begins with recategorise_ comes back as marketing", async (t) => {
  const { base, received } = await startWithReceiver(t);
  const { body } = await submit(base, "recategorise_me");
  t.match(body, { status: "PENDING", category: "MARKETING" });
  const update = await until("the new category", () => changesOf(received, "template_category_update")[0]);
  t.match(update, {
    message_template_name: "recategorise_me",
    previous_category: "UTILITY",
    new_category: "MARKETING",
  });
  await until("the approval", () => changesOf(received, FIELD).length > 0);
  t.equal((await speak(`${base}/${body.id}`, { token: DEMO_CHAT })).body.category, "MARKETING");
});

t.test("a name that begins with instant_ is approved in the answer", async (t) => {
  const { base, received } = await startWithReceiver(t);
  t.match((await submit(base, "instant_one")).body, { status: "APPROVED", category: "UTILITY" });
  const update = await until("the word of it", () => changesOf(received, FIELD)[0]);
  t.equal(update.event, "APPROVED");
});

t.test("a template that was deleted during its review is not heard of again", async (t) => {
  const { base, received } = await startWithReceiver(t, 0.5);
  const address = `${base}/${WABA}/message_templates`;
  await submit(base, "short_lived");
  await speak(address, { method: "DELETE", token: DEMO_CHAT, query: { name: "short_lived" } });
  await submit(base, "after_it");
  await until("the review of the next", () => received.length > 0);
  t.same(
    changesOf(received, FIELD).map(({ message_template_name: name }) => name),
    ["after_it"],
  );
});
