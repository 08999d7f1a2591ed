import t from "tap";
import { formatRefusal, PHONE_NUMBER_ID, postJson, WABA_ID } from "../../fixtures/sandbox/assets.ts";
import { startSandbox } from "../../fixtures/sandbox/sandbox.ts";

const BSUID = "US.13491208655302741918";
const common = { messaging_product: "whatsapp", recipient_type: "individual", to: "16505551234" };
const link = "https://example.com/file";

const template = (name: string, components: object[] = [], language = "en") => ({
  ...common,
  type: "template",
  template: { name, language: { code: language }, components },
});
const textParameters = (...texts: string[]) => texts.map((value) => ({ type: "text", text: value }));

async function createTemplates(base: string): Promise<void> {
  const submit = (name: string, rest: object) =>
    postJson(`${base}/${WABA_ID}/message_templates`, { name, language: "en", category: "UTILITY", ...rest });
  const body = {
    type: "BODY",
    text: "Order {{1}} ships on {{2}}.",
    example: { body_text: [["A-1", "Monday"]] },
  };
  await submit("waiting", { components: [body] });
  await submit("instant_plain", { components: [{ type: "BODY", text: "Good day." }] });
  await submit("instant_order", {
    components: [
      { type: "HEADER", format: "IMAGE", example: { header_handle: ["4::aW"] } },
      body,
      {
        type: "BUTTONS",
        buttons: [
          {
            type: "URL",
            text: "Track",
            url: "https://example.com/{{1}}",
            example: ["https://example.com/1"],
          },
          { type: "QUICK_REPLY", text: "Stop" },
        ],
      },
    ],
  });
  await submit("instant_named", {
    parameter_format: "NAMED",
    components: [
      {
        type: "BODY",
        text: "Dear {{first_name}}, good day.",
        example: { body_text_named_params: [{ param_name: "first_name", example: "Ana" }] },
      },
    ],
  });
  await submit("instant_call", {
    components: [{ type: "BODY", text: "May we call you?" }, { type: "CALL_PERMISSION_REQUEST" }],
  });
  await submit("instant_otp", {
    category: "AUTHENTICATION",
    components: [
      { type: "BODY", add_security_recommendation: true },
      { type: "BUTTONS", buttons: [{ type: "OTP", otp_type: "COPY_CODE" }] },
    ],
  });
}

const image = { type: "header", parameters: [{ type: "image", image: { link } }] };
const track = { type: "button", sub_type: "url", index: "0", parameters: textParameters("17") };
const full = [image, { type: "body", parameters: textParameters("A-1", "Monday") }, track];

const TEMPLATES: Record<string, [message: object, outcome: string]> = {
  "without places": [template("instant_plain"), "200"],
  "all parameters": [template("instant_order", full), "200"],
  "the payload of a quick reply": [
    template("instant_order", [
      ...full,
      { type: "button", sub_type: "quick_reply", index: 1, parameters: [{ type: "payload", payload: "x" }] },
    ]),
    "200",
  ],
  "a one-time password": [
    template("instant_otp", [
      { type: "body", parameters: textParameters("1234") },
      { type: "button", sub_type: "url", index: 0, parameters: textParameters("1234") },
    ]),
    "200",
  ],
  "a parameter with its name": [
    template("instant_named", [
      { type: "body", parameters: [{ type: "text", text: "Ana", parameter_name: "first_name" }] },
    ]),
    "200",
  ],
  "a parameter without its name": [
    template("instant_named", [{ type: "body", parameters: textParameters("Ana") }]),
    "400 132012",
  ],
  "a request for permission to call": [template("instant_call"), "200"],
  "a parameter for a request for permission to call": [
    template("instant_call", [{ type: "call_permission_request", parameters: textParameters("x") }]),
    "400 132000",
  ],
  "a missing template": [template("never_made"), "404 132001"],
  "a template that is not approved yet": [template("waiting"), "404 132001"],
  "a template that exists only in another language": [template("instant_plain", [], "pt_BR"), "404 132001"],
  "no parameters": [template("instant_order"), "400 132000"],
  "too few parameters": [
    template("instant_order", [image, { type: "body", parameters: textParameters("A-1") }, track]),
    "400 132000",
  ],
  "a parameter for a template without variables": [
    template("instant_plain", [{ type: "body", parameters: textParameters("x") }]),
    "400 132000",
  ],
  "a text in place of an image": [
    template("instant_order", [{ type: "header", parameters: textParameters("x") }, ...full.slice(1)]),
    "400 132012",
  ],
  "a button index that is not a number": [
    template("instant_order", [...full.slice(0, 2), { ...track, index: "first" }]),
    "400 131009",
  ],
  "a one-time password to a scoped id": [
    { ...template("instant_otp"), to: undefined, recipient: BSUID },
    "400 131062",
  ],
};

t.test("a template message is accepted or refused by its parameters", async (t) => {
  const { base } = await startSandbox(t, { pace: 1_000 });
  await createTemplates(base);
  for (const [what, [message, outcome]] of Object.entries(TEMPLATES)) {
    const answer = await postJson(`${base}/${PHONE_NUMBER_ID}/messages`, message);
    t.equal(formatRefusal(answer), outcome, what);
    if (outcome === "200") t.equal(answer.body.messages[0].message_status, "accepted");
  }
});

t.test(
  "buttons outside a BUTTONS component are ignored, and an object as a button index is refused",
  async (t) => {
    const { base } = await startSandbox(t);
    const components = [{ type: "BODY", text: "Good day.", buttons: [null, { type: { toString: 1 } }] }];
    const odd = { name: "instant_odd", language: "en", category: "UTILITY", components };
    t.equal((await postJson(`${base}/${WABA_ID}/message_templates`, odd)).status, 200);
    t.equal((await postJson(`${base}/${PHONE_NUMBER_ID}/messages`, template("instant_odd"))).status, 200);
    const button = { type: "button", sub_type: "url", index: { valueOf: 1, toString: 1 }, parameters: [] };
    const message = template("instant_odd", [button]);
    t.equal(formatRefusal(await postJson(`${base}/${PHONE_NUMBER_ID}/messages`, message)), "400 131009");
  },
);
