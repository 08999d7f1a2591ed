import t from "tap";
import { DEMO_CHAT, post, refusal, WABA } from "../../fixtures/sandbox/assets.ts";
import { bodyPart as body, simpleTemplate as simple } from "../../fixtures/sandbox/chat-templates.ts";
import { speak, startSandbox } from "../../fixtures/sandbox/sandbox.ts";

const long = (length: number) => "x".repeat(length);
const header = (text: string, rest: object = {}) => ({ type: "HEADER", format: "TEXT", text, ...rest });
const buttons = (...list: object[]) => ({ type: "BUTTONS", buttons: list });
const with1 = (...components: object[]) => ({ components: [body("Good day."), ...components] });

const REFUSED: Record<string, [change: object, refusal: string]> = {
  "without a name": [{ name: undefined }, "400 100"],
  "without a language": [{ language: undefined }, "400 100"],
  "without a category": [{ category: undefined }, "400 100"],
  "with capitals in its name": [{ name: "Order" }, "400 100"],
  "with a name of 513 letters": [{ name: long(513) }, "400 100 2388040"],
  "in no language": [{ language: "Portuguese" }, "400 100"],
  "of an unknown category": [{ category: "SERVICE" }, "400 100"],
  "of an unknown parameter format": [{ parameter_format: "MIXED" }, "400 100"],
  "with components that are no list": [{ components: "BODY" }, "400 100"],
  "with a component that is no object": [{ components: ["BODY"] }, "400 100"],
  "with an unknown component": [with1({ type: "SIDE" }), "400 100"],
  "with a component that every object has": [with1({ type: "constructor" }), "400 100"],
  "with an object for a component's type": [with1({ type: { toString: 1 } }), "400 100"],
  "with an object for a header's format": [with1({ type: "HEADER", format: { toString: 1 } }), "400 100"],
  "with an object for a button's type": [with1(buttons({ type: { toString: 1 } })), "400 100"],
  "with an object for a button's text": [
    with1(buttons({ type: "QUICK_REPLY", text: { toString: 1 } })),
    "400 100",
  ],
  "with two bodies": [with1(body("Again.")), "400 100"],
  "without a body": [{ components: [{ type: "FOOTER", text: "Bye" }] }, "400 100 2388072"],
  "with a body without text": [{ components: [{ type: "BODY" }] }, "400 100 2388043"],
  "with a body of 1025 letters": [{ components: [body(long(1025))] }, "400 100 2388040"],
  "with wrongly numbered variables": [{ components: [body("Hi {{2}} there.", ["x"])] }, "400 100 2388072"],
  "with a variable at the start": [{ components: [body("{{1}} is on its way.", ["x"])] }, "400 100 2388299"],
  "with a variable at the end": [{ components: [body("Your order is {{1}}", ["x"])] }, "400 100 2388299"],
  "with too many variables": [
    { components: [body("Hi {{1}}, {{2}}, {{3}} bye.", ["a", "b", "c"])] },
    "400 100 2388293",
  ],
  "without an example": [{ components: [body("Your code {{1}} is good.")] }, "400 100 2388043"],
  "with too few examples": [
    { components: [body("Your {{1}} order {{2}} is good.", ["a"])] },
    "400 100 2388043",
  ],
  "with a header of an unknown format": [with1({ type: "HEADER", format: "MUSIC" }), "400 100 2388047"],
  "with a header of 61 letters": [with1(header(long(61))), "400 100 2388040"],
  "with two variables in the header": [with1(header("{{1}} and {{2}}")), "400 100 2388047"],
  "with a new line in the header": [with1(header("a\nb")), "400 100 2388047"],
  "with a header's variable without example": [with1(header("Hi {{1}}")), "400 100 2388043"],
  "with a picture without example": [with1({ type: "HEADER", format: "IMAGE" }), "400 100 2388043"],
  "with a variable in the footer": [with1({ type: "FOOTER", text: "Bye {{1}}" }), "400 100 2388073"],
  "with a footer of 61 letters": [with1({ type: "FOOTER", text: long(61) }), "400 100 2388040"],
  "with no buttons": [with1(buttons()), "400 100 2388043"],
  "with eleven buttons": [
    with1(buttons(...Array.from({ length: 11 }, () => ({ type: "QUICK_REPLY", text: "x" })))),
    "400 100",
  ],
  "with an unknown button": [with1(buttons({ type: "KNOB" })), "400 100"],
  "with a button without text": [with1(buttons({ type: "QUICK_REPLY" })), "400 100 2388043"],
  "with a long button": [with1(buttons({ type: "QUICK_REPLY", text: long(26) })), "400 100 2388040"],
  "with a link to fill in but no example": [
    with1(buttons({ type: "URL", text: "Go", url: "https://example.com/{{1}}" })),
    "400 100 2388043",
  ],
};

t.test("a template is refused", async (t) => {
  const { base } = await startSandbox(t);
  for (const [what, [change, expected]] of Object.entries(REFUSED)) {
    const answer = await post(`${base}/${WABA}/message_templates`, simple("refused", change));
    t.equal(refusal(answer), expected, what);
    if (answer.body.error?.error_subcode)
      t.ok(answer.body.error.error_user_title && answer.body.error.error_user_msg, `${what}: says why`);
  }
  t.same((await speak(`${base}/${WABA}/message_templates`, { token: DEMO_CHAT })).body.data, []);
});

t.test("a template with named variables needs named examples", async (t) => {
  const { base } = await startSandbox(t);
  const named = (example: object) =>
    post(
      `${base}/${WABA}/message_templates`,
      simple("named", {
        parameter_format: "NAMED",
        components: [{ type: "BODY", text: "Dear {{first_name}}, good day.", example }],
      }),
    );
  t.equal(refusal(await named({ body_text: [["Ana"]] })), "400 100 2388043");
  t.match(await named({ body_text_named_params: [{ param_name: "first_name", example: "Ana" }] }), {
    status: 200,
  });
});

t.test("a variable that never closes, with many spaces in it, does not hold the process up", async (t) => {
  const { base } = await startSandbox(t);
  const endless = buttons({ type: "URL", text: "Go", url: `https://example.com/{{${" ".repeat(20_000)}` });
  const began = Date.now();
  t.equal((await post(`${base}/${WABA}/message_templates`, simple("endless", with1(endless)))).status, 200);
  t.ok(Date.now() - began < 2_000);
  const spaced = { components: [body("Your order {{ 1 }} is on its way.", ["A-1"])] };
  t.equal((await post(`${base}/${WABA}/message_templates`, simple("spaced", spaced))).status, 200);
});
