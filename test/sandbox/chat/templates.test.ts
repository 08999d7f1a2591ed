import t from "tap";
import {
  changesOf,
  DEMO_CHAT_TOKEN,
  formatRefusal,
  issueChatToken,
  OTHER_WABA_ID,
  PHONE_NUMBER_ID,
  postJson,
  startSandboxWithReceiver,
  WABA_ID,
} from "../../fixtures/sandbox/assets.ts";
import { bodyComponent as body, simpleTemplate as simple } from "../../fixtures/sandbox/chat-templates.ts";
import { callSandbox, startSandbox } from "../../fixtures/sandbox/sandbox.ts";
import { until } from "../../fixtures/until.ts";

const token = DEMO_CHAT_TOKEN;

/** A pace so slow that no review ends during a test. */
const NO_REVIEW_PACE = 1_000;

const toForm = ({ components, ...rest }: ReturnType<typeof simple>) => ({
  ...rest,
  components: JSON.stringify(components),
});

const names = (answer: { body: { data: { name: string }[] } }) => answer.body.data.map(({ name }) => name);

t.test("a documented template is accepted for review", async (t) => {
  const { base } = await startSandbox(t);
  const answer = await postJson(`${base}/${WABA_ID}/message_templates`, {
    name: "order_update",
    language: "pt_BR",
    category: "UTILITY",
    allow_category_change: true,
    components: [
      { type: "HEADER", format: "TEXT", text: "Hi {{1}}", example: { header_text: ["Ana"] } },
      body("Order {{1}} ships on {{2}}.", ["A-1", "Monday"]),
      { type: "FOOTER", text: "Reply STOP" },
      { type: "BUTTONS", buttons: [{ type: "QUICK_REPLY", text: "Stop" }] },
    ],
  });
  t.equal(answer.status, 200);
  t.match(answer.body.id, /^\d{18}$/);
  t.same({ ...answer.body, id: "" }, { id: "", status: "PENDING", category: "UTILITY" });
});

t.test("a template can be sent as a form with its components as JSON", async (t) => {
  const { base } = await startSandbox(t);
  const form = toForm(simple("by_form"));
  t.match(await callSandbox(`${base}/${WABA_ID}/message_templates`, { token, form }), { status: 200 });
});

t.test("a template for one-time passwords needs no text", async (t) => {
  const { base } = await startSandbox(t);
  const components = [
    { type: "BODY", add_security_recommendation: true },
    { type: "BUTTONS", buttons: [{ type: "OTP", otp_type: "COPY_CODE" }] },
  ];
  const answer = await postJson(
    `${base}/${WABA_ID}/message_templates`,
    simple("otp", { category: "AUTHENTICATION", components }),
  );
  t.match(answer.body, { status: "PENDING", category: "AUTHENTICATION" });
});

t.test("a name can be used once per language", async (t) => {
  const { base } = await startSandbox(t);
  const address = `${base}/${WABA_ID}/message_templates`;
  const first = await postJson(address, simple("greeting"));
  t.equal(formatRefusal(await postJson(address, simple("greeting"))), "400 100 2388024");
  const second = await postJson(address, simple("greeting", { language: "en_US" }));
  t.equal(second.status, 200);
  t.not(first.body.id, second.body.id);
});

t.test("an account can have at most 250 templates", async (t) => {
  const { base, origin } = await startSandbox(t, { pace: NO_REVIEW_PACE });
  const address = `${base}/${WABA_ID}/message_templates`;
  const calls = Array.from({ length: 249 }, (_, count) => ({
    method: "POST",
    relative_url: new URL(address).pathname,
    body: String(new URLSearchParams(toForm(simple(`t_${count}`)))),
  })); // hello_world is the first
  for (let at = 0; at < calls.length; at += 50) {
    const form = { batch: JSON.stringify(calls.slice(at, at + 50)) };
    const answer = await callSandbox(`${origin}/`, { token, form });
    t.ok(answer.body.every(({ code }: { code: number }) => code === 200));
  }
  t.equal(formatRefusal(await postJson(address, simple("t_250"))), "400 100 2388019");
});

t.test("templates are listed in pages, and the last page has no next", async (t) => {
  const { base } = await startSandbox(t);
  const address = `${base}/${WABA_ID}/message_templates`;
  for (const name of ["one", "two", "three"]) await postJson(address, simple(name));
  const all = names(await callSandbox(address, { token }));
  t.same(all, ["hello_world", "one", "two", "three"]);
  const first = await callSandbox(address, { token, query: { limit: "3" } });
  t.same(names(first), all.slice(0, 3));
  t.same(Object.keys(first.body.data[0]).sort(), [
    "category",
    "components",
    "id",
    "language",
    "name",
    "parameter_format",
    "status",
  ]);
  const next = await callSandbox(first.body.paging.next);
  t.same(names(next), ["three"]);
  t.notOk(next.body.paging.next);
  t.ok(next.body.paging.cursors.after);
});

t.test("the list can be filtered and limited to some fields", async (t) => {
  const { base } = await startSandbox(t, { pace: NO_REVIEW_PACE });
  const address = `${base}/${WABA_ID}/message_templates`;
  await postJson(address, simple("instant_order", { components: [body("Apples are here.")] }));
  await postJson(address, simple("parcel", { language: "en", category: "MARKETING" }));
  const list = async (query: Record<string, string>) => names(await callSandbox(address, { token, query }));
  t.same(await list({ name: "order" }), ["instant_order"]);
  t.same(await list({ content: "apples" }), ["instant_order"]);
  t.same(await list({ name_or_content: "parcel" }), ["parcel"]);
  t.same(await list({ language: "en" }), ["parcel"]);
  t.same(await list({ category: "MARKETING" }), ["parcel"]);
  t.same(await list({ status: "APPROVED" }), ["hello_world", "instant_order"]);
  t.same(await list({ quality_score: "GREEN" }), []);
  t.same(await list({ since: "1", until: "2" }), []);
  t.equal(formatRefusal(await callSandbox(address, { token, query: { since: "yesterday" } })), "400 100");
  const fields = "name,status,quality_score,rejected_reason";
  const { data } = (await callSandbox(address, { token, query: { name: "parcel", fields } })).body;
  t.match(data, [{ name: "parcel", status: "PENDING", quality_score: { score: "UNKNOWN" } }]);
  t.same(Object.keys(data[0]).sort(), ["id", "name", "quality_score", "rejected_reason", "status"]);
  t.equal(formatRefusal(await callSandbox(address, { token, query: { fields: "colour" } })), "400 100");
});

t.test("a template is deleted in all languages by its name, or in one by name and id", async (t) => {
  const { base } = await startSandbox(t);
  const address = `${base}/${WABA_ID}/message_templates`;
  const remove = (query: Record<string, string>) => callSandbox(address, { method: "DELETE", token, query });
  const { id } = (await postJson(address, simple("bye"))).body;
  for (const language of ["en", "es", "fr"]) await postJson(address, simple("bye", { language }));
  t.equal(formatRefusal(await remove({ hsm_id: id })), "400 100", "an id alone is refused");
  t.equal(formatRefusal(await remove({ name: "by", hsm_id: id })), "400 100 2593002");
  t.same((await remove({ name: "bye", hsm_id: id })).body, { success: true });
  const remaining = (await callSandbox(address, { token, query: { name: "bye" } })).body.data;
  t.same(
    remaining.map(({ language }: { language: string }) => language),
    ["en", "es", "fr"],
  );
  t.same((await remove({ name: "bye", hsm_ids: JSON.stringify([remaining[0].id]) })).body, { success: true });
  t.same((await remove({ name: "bye" })).body, { success: true });
  t.same(names(await callSandbox(address, { token })), ["hello_world"]);
  t.equal(formatRefusal(await remove({ name: "bye" })), "400 100 2593002");
});

t.test("the name of a deleted template stays blocked if it was approved", async (t) => {
  const { base } = await startSandbox(t);
  const address = `${base}/${WABA_ID}/message_templates`;
  for (const name of ["instant_gone", "reject_gone"]) {
    await postJson(address, simple(name));
    await until("the review", async () =>
      (await callSandbox(address, { token, query: { name } })).body.data.some(
        ({ status }: { status: string }) => status !== "PENDING",
      ),
    );
    await callSandbox(address, { method: "DELETE", token, query: { name } });
  }
  t.equal(formatRefusal(await postJson(address, simple("instant_gone"))), "400 100 2388023");
  t.equal((await postJson(address, simple("reject_gone"))).status, 200);
});

t.test("a template is read and edited by its id", async (t) => {
  const { base } = await startSandbox(t, { pace: NO_REVIEW_PACE });
  const { id } = (await postJson(`${base}/${WABA_ID}/message_templates`, simple("instant_edit"))).body;
  t.match((await callSandbox(`${base}/${id}`, { token })).body, {
    id,
    name: "instant_edit",
    status: "APPROVED",
  });
  t.equal(formatRefusal(await postJson(`${base}/${id}`, { category: "MARKETING" })), "400 100");
  t.equal(formatRefusal(await postJson(`${base}/${id}`, { components: [] })), "400 100 2388072");
  t.same((await postJson(`${base}/${id}`, { components: [body("Another text.")] })).body, { success: true });
  const edited = { status: "PENDING", components: [{ text: "Another text." }] };
  t.match((await callSandbox(`${base}/${id}`, { token })).body, edited);
  t.equal(formatRefusal(await postJson(`${base}/${id}`, { components: [body("Too soon.")] })), "400 100");
});

t.test("a rejected template is reviewed again after an edit", async (t) => {
  const { base, received } = await startSandboxWithReceiver(t);
  const { id } = (await postJson(`${base}/${WABA_ID}/message_templates`, simple("reject_twice"))).body;
  const countReviews = () => changesOf(received, "message_template_status_update").length;
  await until("the first review", () => countReviews() === 1);
  await postJson(`${base}/${id}`, { category: "MARKETING", components: [body("Another text.")] });
  await until("the second review", () => countReviews() === 2);
  t.match((await callSandbox(`${base}/${id}`, { token })).body, {
    status: "REJECTED",
    category: "MARKETING",
  });
});

t.test("templates require permission to manage the account", async (t) => {
  const { base } = await startSandbox(t);
  const { id } = (await postJson(`${base}/${WABA_ID}/message_templates`, simple("mine"))).body;
  const otherToken = issueChatToken([OTHER_WABA_ID]);
  t.equal(
    formatRefusal(await callSandbox(`${base}/${WABA_ID}/message_templates`, { token: otherToken })),
    "400 100 33",
  );
  t.equal(formatRefusal(await callSandbox(`${base}/${id}`, { token: otherToken })), "400 100 33");
  const sender = issueChatToken([WABA_ID], ["whatsapp_business_messaging"]);
  t.equal(
    formatRefusal(await callSandbox(`${base}/${WABA_ID}/message_templates`, { token: sender })),
    "403 10",
  );
  t.equal(
    formatRefusal(await callSandbox(`${base}/${PHONE_NUMBER_ID}/message_templates`, { token })),
    "400 100",
  );
});
