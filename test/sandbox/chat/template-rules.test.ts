import t from "tap";
import {
  DEMO_CHAT_TOKEN,
  formatRefusal,
  PHONE_NUMBER_ID,
  postJson,
  WABA_ID,
} from "../../fixtures/sandbox/assets.ts";
import { bodyComponent as body, simpleTemplate as simple } from "../../fixtures/sandbox/chat-templates.ts";
import { callSandbox, startSandbox } from "../../fixtures/sandbox/sandbox.ts";

const textOfLength = (length: number) => "x".repeat(length);
const header = (text: string, rest: object = {}) => ({ type: "HEADER", format: "TEXT", text, ...rest });
const buttons = (...list: object[]) => ({ type: "BUTTONS", buttons: list });
const withComponents = (...components: object[]) => ({ components: [body("Good day."), ...components] });

const callPermission = { type: "CALL_PERMISSION_REQUEST" };

const REFUSED: Record<string, [change: object, refusal: string]> = {
  "no name": [{ name: undefined }, "400 100"],
  "no language": [{ language: undefined }, "400 100"],
  "no category": [{ category: undefined }, "400 100"],
  "uppercase letters in the name": [{ name: "Order" }, "400 100"],
  "a name of 513 characters": [{ name: textOfLength(513) }, "400 100 2388040"],
  "an invalid language": [{ language: "Portuguese" }, "400 100"],
  "an unknown category": [{ category: "SERVICE" }, "400 100"],
  "an unknown parameter format": [{ parameter_format: "MIXED" }, "400 100"],
  "components that are not a list": [{ components: "BODY" }, "400 100"],
  "a component that is not an object": [{ components: ["BODY"] }, "400 100"],
  "an unknown component": [withComponents({ type: "SIDE" }), "400 100"],
  "a component named like an inherited property": [withComponents({ type: "constructor" }), "400 100"],
  "an object as a component's type": [withComponents({ type: { toString: 1 } }), "400 100"],
  "an object as a header's format": [withComponents({ type: "HEADER", format: { toString: 1 } }), "400 100"],
  "an object as a button's type": [withComponents(buttons({ type: { toString: 1 } })), "400 100"],
  "an object as a button's text": [
    withComponents(buttons({ type: "QUICK_REPLY", text: { toString: 1 } })),
    "400 100",
  ],
  "two bodies": [withComponents(body("Again.")), "400 100"],
  "no body": [{ components: [{ type: "FOOTER", text: "Bye" }] }, "400 100 2388072"],
  "a body without text": [{ components: [{ type: "BODY" }] }, "400 100 2388043"],
  "a body of 1025 characters": [{ components: [body(textOfLength(1025))] }, "400 100 2388040"],
  "wrongly numbered variables": [{ components: [body("Hi {{2}} there.", ["x"])] }, "400 100 2388072"],
  "a variable at the start": [{ components: [body("{{1}} is on its way.", ["x"])] }, "400 100 2388299"],
  "a variable at the end": [{ components: [body("Your order is {{1}}", ["x"])] }, "400 100 2388299"],
  "too many variables": [
    { components: [body("Hi {{1}}, {{2}}, {{3}} bye.", ["a", "b", "c"])] },
    "400 100 2388293",
  ],
  "no example": [{ components: [body("Your code {{1}} is good.")] }, "400 100 2388043"],
  "too few examples": [{ components: [body("Your {{1}} order {{2}} is good.", ["a"])] }, "400 100 2388043"],
  "a header of an unknown format": [withComponents({ type: "HEADER", format: "MUSIC" }), "400 100 2388047"],
  "a header of 61 characters": [withComponents(header(textOfLength(61))), "400 100 2388040"],
  "two variables in the header": [withComponents(header("{{1}} and {{2}}")), "400 100 2388047"],
  "a new line in the header": [withComponents(header("a\nb")), "400 100 2388047"],
  "a header variable without an example": [withComponents(header("Hi {{1}}")), "400 100 2388043"],
  "an image header without an example": [
    withComponents({ type: "HEADER", format: "IMAGE" }),
    "400 100 2388043",
  ],
  "a variable in the footer": [withComponents({ type: "FOOTER", text: "Bye {{1}}" }), "400 100 2388073"],
  "a footer of 61 characters": [
    withComponents({ type: "FOOTER", text: textOfLength(61) }),
    "400 100 2388040",
  ],
  "an empty list of buttons": [withComponents(buttons()), "400 100 2388043"],
  "eleven buttons": [
    withComponents(buttons(...Array.from({ length: 11 }, () => ({ type: "QUICK_REPLY", text: "x" })))),
    "400 100",
  ],
  "an unknown button": [withComponents(buttons({ type: "KNOB" })), "400 100"],
  "a button without text": [withComponents(buttons({ type: "QUICK_REPLY" })), "400 100 2388043"],
  "a button text that is too long": [
    withComponents(buttons({ type: "QUICK_REPLY", text: textOfLength(26) })),
    "400 100 2388040",
  ],
  "a URL variable without an example": [
    withComponents(buttons({ type: "URL", text: "Go", url: "https://example.com/{{1}}" })),
    "400 100 2388043",
  ],
  "a call permission request without a body": [{ components: [callPermission] }, "400 100 2388072"],
  "two call permission requests": [
    withComponents(callPermission, { type: "call_permission_request" }),
    "400 100",
  ],
};

t.test("an invalid template is refused", async (t) => {
  const { base } = await startSandbox(t);
  for (const [what, [change, expected]] of Object.entries(REFUSED)) {
    const answer = await postJson(`${base}/${WABA_ID}/message_templates`, simple("refused", change));
    t.equal(formatRefusal(answer), expected, what);
    if (answer.body.error?.error_subcode)
      t.ok(
        answer.body.error.error_user_title && answer.body.error.error_user_msg,
        `${what}: has a text for people`,
      );
  }
  const query = { name: "refused" };
  t.same(
    (await callSandbox(`${base}/${WABA_ID}/message_templates`, { token: DEMO_CHAT_TOKEN, query })).body.data,
    [],
  );
});

const otpTemplate = (code_expiration_minutes: unknown) => ({
  category: "AUTHENTICATION",
  components: [
    { type: "BODY", add_security_recommendation: true },
    { type: "FOOTER", code_expiration_minutes },
    { type: "BUTTONS", buttons: [{ type: "OTP", otp_type: "COPY_CODE", text: "Copy code" }] },
  ],
});

t.test("an authentication template has the lifetime of its code in the footer", async (t) => {
  const { base } = await startSandbox(t);
  const create = async (name: string, change: object) =>
    formatRefusal(await postJson(`${base}/${WABA_ID}/message_templates`, simple(name, change)));
  t.equal(await create("otp", otpTemplate(10)), "200");
  for (const minutes of [0, 91, 1.5, "soon", null, {}, { toString: 1 }])
    t.match(await create("otp_wrong", otpTemplate(minutes)), /^400 100/, JSON.stringify(minutes));
  const utility = withComponents({ type: "FOOTER", code_expiration_minutes: 10 });
  t.equal(await create("no_otp", utility), "400 100 2388043", "other categories need a text");
});

t.test("a marketing or utility template can ask for permission to call", async (t) => {
  const { base } = await startSandbox(t);
  const create = (name: string, change: object) =>
    postJson(`${base}/${WABA_ID}/message_templates`, simple(name, change));
  for (const category of ["MARKETING", "UTILITY"])
    for (const [index, type] of ["CALL_PERMISSION_REQUEST", "call_permission_request"].entries()) {
      const name = `call_${category.toLowerCase()}_${index}`;
      const change = { category, ...withComponents(header("May we call?"), { type }) };
      t.match(await create(name, change), { status: 200, body: { category } }, `${category} ${type}`);
    }
});

t.test(
  "a request for permission to call is refused with other interactive components and in authentication templates",
  async (t) => {
    const { base } = await startSandbox(t);
    const refusalOf = async (change: object) => {
      const answer = await postJson(`${base}/${WABA_ID}/message_templates`, simple("refused", change));
      t.equal(formatRefusal(answer), "400 100");
      t.equal(answer.body.error.error_user_title, "Call permission request is invalid");
      return answer.body.error.error_user_msg;
    };
    const others = [
      buttons({ type: "QUICK_REPLY", text: "Stop" }),
      { type: "CAROUSEL", cards: [] },
      { type: "LIMITED_TIME_OFFER", limited_time_offer: { text: "Today" } },
    ];
    for (const other of others)
      for (const components of [
        [callPermission, other],
        [other, callPermission],
      ])
        t.match(await refusalOf(withComponents(...components)), new RegExp(`type ${other.type}\\.$`));
    const authentication = { category: "AUTHENTICATION", ...withComponents(callPermission) };
    t.match(await refusalOf(authentication), /authentication template/);
  },
);

t.test("a header shows a place or a product without an example", async (t) => {
  const { base } = await startSandbox(t);
  for (const format of ["LOCATION", "PRODUCT"]) {
    const change = { components: [{ type: "HEADER", format }, body("Look at this one.")] };
    const name = `header_${format.toLowerCase()}`;
    t.equal((await postJson(`${base}/${WABA_ID}/message_templates`, simple(name, change))).status, 200);
  }
});

t.test("every account has the approved template hello_world", async (t) => {
  const { base } = await startSandbox(t);
  const { data } = (await callSandbox(`${base}/${WABA_ID}/message_templates`, { token: DEMO_CHAT_TOKEN }))
    .body;
  t.match(data, [{ name: "hello_world", language: "en_US", status: "APPROVED", category: "UTILITY" }]);
  const message = {
    ...{ messaging_product: "whatsapp", to: "16505551234", type: "template" },
    template: { name: "hello_world", language: { code: "en_US" } },
  };
  t.equal((await postJson(`${base}/${PHONE_NUMBER_ID}/messages`, message)).status, 200);
});

t.test("a template with named variables requires named examples", async (t) => {
  const { base } = await startSandbox(t);
  const createNamed = (example: object) =>
    postJson(
      `${base}/${WABA_ID}/message_templates`,
      simple("named", {
        parameter_format: "NAMED",
        components: [{ type: "BODY", text: "Dear {{first_name}}, good day.", example }],
      }),
    );
  t.equal(formatRefusal(await createNamed({ body_text: [["Ana"]] })), "400 100 2388043");
  t.match(await createNamed({ body_text_named_params: [{ param_name: "first_name", example: "Ana" }] }), {
    status: 200,
  });
});

t.test("an unclosed variable with many spaces does not block the process", async (t) => {
  const { base } = await startSandbox(t);
  const endless = buttons({ type: "URL", text: "Go", url: `https://example.com/{{${" ".repeat(300_000)}` });
  const began = Date.now();
  t.equal(
    (await postJson(`${base}/${WABA_ID}/message_templates`, simple("endless", withComponents(endless))))
      .status,
    200,
  );
  t.ok(Date.now() - began < 20_000, "quadratic time would be a minute");
  const spaced = { components: [body("Your order {{ 1 }} is on its way.", ["A-1"])] };
  t.equal((await postJson(`${base}/${WABA_ID}/message_templates`, simple("spaced", spaced))).status, 200);
});
