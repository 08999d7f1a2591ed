import t from "tap";
import {
  DEMO_CHAT_TOKEN,
  formatRefusal,
  isSigned,
  issueChatToken,
  OTHER_WABA_ID,
  PHONE_NUMBER_ID,
  PIN_NUMBER_ID,
  PLAIN_NUMBER_ID,
  postJson,
  startSandboxWithReceiver,
  UNVERIFIED_NUMBER_ID,
  WABA_ID,
} from "../../fixtures/sandbox/assets.ts";
import { CHAT_SIGNUP_REQUEST } from "../../fixtures/sandbox/dialogs.ts";
import { callSandbox, startSandbox } from "../../fixtures/sandbox/sandbox.ts";
import { until } from "../../fixtures/until.ts";

const token = DEMO_CHAT_TOKEN;
const otherToken = issueChatToken([OTHER_WABA_ID]);
const hello = { messaging_product: "whatsapp", to: "16505551234", type: "text", text: { body: "Hi" } };

t.test("an account shows the requested fields", async (t) => {
  const { base } = await startSandbox(t);
  const fields =
    "id,name,message_template_namespace,timezone_id,currency,account_review_status,owner_business_info";
  const answer = await callSandbox(`${base}/${WABA_ID}`, { token, query: { fields } });
  t.match(answer.body, {
    id: WABA_ID,
    name: "Sandbox Coffee",
    message_template_namespace: "ba30dd89_2ebd_41e4_b805_f2c05ae04cc9",
    timezone_id: String,
    currency: "BRL",
    account_review_status: "APPROVED",
    owner_business_info: { id: String, name: String },
  });
  t.match(JSON.parse(answer.headers.get("x-business-use-case-usage") ?? ""), {
    [WABA_ID]: [{ type: "whatsapp" }],
  });
  t.same(
    Object.keys(
      (await callSandbox(`${base}/${WABA_ID}`, { token, query: { fields: "message_template_namespace" } }))
        .body,
    ).sort(),
    ["id", "message_template_namespace"],
  );
  t.equal(
    formatRefusal(await callSandbox(`${base}/${WABA_ID}`, { token, query: { fields: "colour" } })),
    "400 100",
  );
});

t.test("an account and its numbers are hidden from a token without the grant", async (t) => {
  const { base } = await startSandbox(t);
  for (const path of [WABA_ID, `${WABA_ID}/phone_numbers`, `${WABA_ID}/subscribed_apps`, PHONE_NUMBER_ID])
    t.equal(formatRefusal(await callSandbox(`${base}/${path}`, { token: otherToken })), "400 100 33", path);
  t.equal(
    formatRefusal(await postJson(`${base}/${PHONE_NUMBER_ID}/messages`, hello, otherToken)),
    "400 100 33",
  );
  const manager = issueChatToken([WABA_ID], ["whatsapp_business_management"]);
  t.equal(formatRefusal(await postJson(`${base}/${PHONE_NUMBER_ID}/messages`, hello, manager)), "403 10");
  t.equal(formatRefusal(await callSandbox(`${base}/${WABA_ID}`)), "401 104");
});

t.test("the numbers of an account are listed in pages", async (t) => {
  const { base } = await startSandbox(t);
  const query = { limit: "2" };
  const first = await callSandbox(`${base}/${OTHER_WABA_ID}/phone_numbers`, { token: otherToken, query });
  t.match(first.body.data, [
    { id: PLAIN_NUMBER_ID, display_phone_number: "+1 555-010-0302", verified_name: "Sandbox Tea" },
    { id: PIN_NUMBER_ID, code_verification_status: "VERIFIED" },
  ]);
  const rest = await callSandbox(first.body.paging.next);
  t.match(rest.body.data, [{ id: UNVERIFIED_NUMBER_ID, code_verification_status: "NOT_VERIFIED" }]);
  t.notOk(rest.body.paging.next);
});

t.test("a number has the documented fields", async (t) => {
  const { base } = await startSandbox(t);
  const fields =
    "display_phone_number,verified_name,quality_rating,code_verification_status,name_status,throughput,whatsapp_business_manager_messaging_limit,platform_type,status";
  t.same((await callSandbox(`${base}/${PHONE_NUMBER_ID}`, { token, query: { fields } })).body, {
    id: PHONE_NUMBER_ID,
    display_phone_number: "+55 11 90000-0301",
    verified_name: "Sandbox Coffee",
    quality_rating: "GREEN",
    code_verification_status: "VERIFIED",
    name_status: "APPROVED",
    throughput: { level: "STANDARD" },
    whatsapp_business_manager_messaging_limit: "TIER_2K",
    platform_type: "CLOUD_API",
    status: "CONNECTED",
  });
  t.equal(
    formatRefusal(await callSandbox(`${base}/${PHONE_NUMBER_ID}`, { token, query: { fields: "colour" } })),
    "400 100",
  );
});

t.test("an account without a subscription sends no webhooks", async (t) => {
  const { base, received } = await startSandboxWithReceiver(t);
  const address = `${base}/${WABA_ID}/subscribed_apps`;
  t.match((await callSandbox(address, { token })).body.data, [
    { whatsapp_business_api_data: { id: "1900000000000001", name: String, link: String } },
  ]);
  t.same((await callSandbox(address, { method: "DELETE", token })).body, { success: true });
  t.same((await callSandbox(address, { token })).body, { data: [] });
  const override = { override_callback_uri: "https://example.com/hook", verify_token: "x" };
  t.equal(formatRefusal(await postJson(address, override)), "400 100", "overriding requires a subscription");
  await postJson(`${base}/${PHONE_NUMBER_ID}/messages`, hello);
  await postJson(`${base}/${PLAIN_NUMBER_ID}/messages`, hello, otherToken);
  const webhook = await until("a webhook of the other account", () => received[0]);
  t.equal(webhook.body.entry[0].id, OTHER_WABA_ID);
  t.same((await callSandbox(address, { method: "POST", token })).body, { success: true });
  await postJson(`${base}/${PHONE_NUMBER_ID}/messages`, hello);
  const wabaWebhook = await until("a webhook of this account", () =>
    received.find(({ body }) => body.entry[0].id === WABA_ID),
  );
  t.ok(isSigned(wabaWebhook));
});

t.test("a callback URL override must be a valid URL with a verify token", async (t) => {
  const { base } = await startSandbox(t);
  const address = `${base}/${WABA_ID}/subscribed_apps`;
  const override = { override_callback_uri: "https://example.com/hook", verify_token: "x" };
  t.equal(
    formatRefusal(await postJson(address, { override_callback_uri: "https://example.com/hook" })),
    "400 100",
  );
  t.equal(formatRefusal(await postJson(address, { ...override, override_callback_uri: "here" })), "400 100");
  const long = `https://example.com/${"x".repeat(200)}`;
  t.equal(formatRefusal(await postJson(address, { ...override, override_callback_uri: long })), "400 100");
  t.same((await postJson(address, override)).body, { success: true });
  t.match((await callSandbox(address, { token })).body.data, [
    { override_callback_uri: "https://example.com/hook" },
  ]);
});

const register = (base: string, number: string, json: object) =>
  postJson(`${base}/${number}/register`, json, otherToken).then((answer) =>
    answer.status === 200 ? answer.body : formatRefusal(answer),
  );
const pin = (digits: string) => ({ messaging_product: "whatsapp", pin: digits });

t.test("a number is registered with a pin of six digits, which it keeps", async (t) => {
  const { base } = await startSandbox(t);
  t.equal(await register(base, PLAIN_NUMBER_ID, { messaging_product: "whatsapp" }), "400 100");
  t.equal(await register(base, PLAIN_NUMBER_ID, { pin: "123456" }), "400 100");
  t.equal(await register(base, PLAIN_NUMBER_ID, pin("12345")), "400 100");
  t.same(await register(base, PLAIN_NUMBER_ID, pin("123456")), { success: true });
  t.same(await register(base, PLAIN_NUMBER_ID, pin("123456")), { success: true });
  t.equal(await register(base, PLAIN_NUMBER_ID, pin("654321")), "400 133005");
});

t.test("a number with a pin refuses another pin", async (t) => {
  const { base } = await startSandbox(t);
  t.equal(await register(base, PIN_NUMBER_ID, pin("123456")), "400 133005");
  t.same(await register(base, PIN_NUMBER_ID, pin("135790")), { success: true });
});

t.test("an unverified number cannot be registered and cannot send", async (t) => {
  const { base } = await startSandbox(t);
  t.equal(await register(base, UNVERIFIED_NUMBER_ID, pin("123456")), "400 133006");
  t.equal(
    formatRefusal(await postJson(`${base}/${UNVERIFIED_NUMBER_ID}/messages`, hello, otherToken)),
    "400 133010",
  );
});

t.test("a deregistered number can send after it is registered again", async (t) => {
  const { base } = await startSandbox(t);
  const address = `${base}/${PLAIN_NUMBER_ID}`;
  t.equal((await postJson(`${address}/messages`, hello, otherToken)).status, 200);
  t.same((await callSandbox(`${address}/deregister`, { method: "POST", token: otherToken })).body, {
    success: true,
  });
  t.equal(formatRefusal(await postJson(`${address}/messages`, hello, otherToken)), "400 133010");
  t.match((await callSandbox(address, { token: otherToken, query: { fields: "status" } })).body, {
    status: "PENDING",
  });
  t.same(await register(base, PLAIN_NUMBER_ID, pin("123456")), { success: true });
  t.equal((await postJson(`${address}/messages`, hello, otherToken)).status, 200);
});

t.test("a number can be registered at most ten times", async (t) => {
  const { base } = await startSandbox(t);
  for (let count = 0; count < 10; count += 1)
    t.same(await register(base, PLAIN_NUMBER_ID, pin("123456")), { success: true });
  t.equal(await register(base, PLAIN_NUMBER_ID, pin("123456")), "400 133016");
});

t.test("a number granted by a signup can send after it is registered", async (t) => {
  const { base, origin } = await startSandbox(t);
  const grant = async (asset: string) => {
    const form = { ...CHAT_SIGNUP_REQUEST, action: "grant", asset };
    t.equal((await callSandbox(`${origin}/dialog/signup`, { form })).status, 302);
  };
  await grant(OTHER_WABA_ID);
  t.equal(
    formatRefusal(await postJson(`${base}/${PLAIN_NUMBER_ID}/messages`, hello, otherToken)),
    "400 133010",
  );
  t.same(await register(base, PLAIN_NUMBER_ID, pin("123456")), { success: true });
  t.equal((await postJson(`${base}/${PLAIN_NUMBER_ID}/messages`, hello, otherToken)).status, 200);
  await grant(OTHER_WABA_ID);
  t.equal(
    (await postJson(`${base}/${PLAIN_NUMBER_ID}/messages`, hello, otherToken)).status,
    200,
    "a second grant needs no second registration",
  );
  await grant(WABA_ID);
  t.equal(
    (await postJson(`${base}/${PHONE_NUMBER_ID}/messages`, hello)).status,
    200,
    "the demo client's number is already registered",
  );
});

t.test("an unknown field of a number is refused, for one number and in a list", async (t) => {
  const { base } = await startSandbox(t);
  const query = { fields: "id,bogus" };
  for (const path of [PHONE_NUMBER_ID, `${WABA_ID}/phone_numbers`])
    t.equal(formatRefusal(await callSandbox(`${base}/${path}`, { token, query })), "400 100", path);
});

t.test("every call counts against the quota of the account, not of a number, file or template", async (t) => {
  const { base } = await startSandbox(t);
  const file = new FormData();
  for (const [name, value] of Object.entries({ messaging_product: "whatsapp", type: "image/png" }))
    file.set(name, value);
  file.set("file", new Blob(["a picture"], { type: "image/png" }), "file");
  const uploaded = await callSandbox(`${base}/${PHONE_NUMBER_ID}/media`, { token, body: file });
  const components = [{ type: "BODY", text: "Good day." }];
  const template = { name: "instant_day", language: "en", category: "UTILITY", components };
  const created = await postJson(`${base}/${WABA_ID}/message_templates`, template);
  const answers = {
    "a message": await postJson(`${base}/${PHONE_NUMBER_ID}/messages`, hello),
    "a refused message": await postJson(`${base}/${PHONE_NUMBER_ID}/messages`, { ...hello, type: "smell" }),
    "an upload": uploaded,
    "a file": await callSandbox(`${base}/${uploaded.body.id}`, { token }),
    "a template": await callSandbox(`${base}/${created.body.id}`, { token }),
  };
  for (const [what, { headers }] of Object.entries(answers))
    t.same(Object.keys(JSON.parse(headers.get("x-business-use-case-usage") ?? "{}")), [WABA_ID], what);
});
