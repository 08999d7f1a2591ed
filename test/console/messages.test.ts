import t from "tap";
import { sendRequestOf } from "../../src/console/screens/messages/send-request.ts";
import { templateComponents, variablesOf } from "../../src/console/screens/messages/template-variables.ts";

type Message = Parameters<typeof sendRequestOf>[0];
type Template = Parameters<typeof variablesOf>[0];

const message = (fields: object) =>
  ({
    ...{ message_id: "msg_1", channel_id: "ch_1", to: "5511988887777", status: "read", send_at: null },
    ...{ external_ref: null, context: null, messaging_type: null, tag: null, ...fields },
  }) as unknown as Message;

const template = (...components: object[]) => ({ name: "t", components }) as unknown as Template;

t.test(
  "the request of a message contains its content and its options, and nothing that is its own",
  async (t) => {
    t.same(sendRequestOf(message({ type: "text", content: { body: "Hi" } })), {
      ...{ channel_id: "ch_1", to: "5511988887777", type: "text", text: { body: "Hi" } },
    });
    const options = {
      external_ref: "order-1",
      context: { message_id: "wamid.1" },
      messaging_type: "MESSAGE_TAG",
    };
    t.same(sendRequestOf(message({ type: "image", content: { id: "7" }, ...options, tag: "HUMAN_AGENT" })), {
      ...{ channel_id: "ch_1", to: "5511988887777", type: "image", image: { id: "7" } },
      ...{ ...options, tag: "HUMAN_AGENT" },
    });
  },
);

t.test("the variables of a template are found once each, header first, numbers in their order", async (t) => {
  const found = variablesOf(
    template(
      { type: "BODY", text: "{{2}} and {{ 1 }}, then {{10}}, again {{2}}" },
      { type: "HEADER", format: "TEXT", text: "Order {{number}}" },
      { type: "FOOTER", text: "{{not_here}}" },
    ),
  );
  t.same(
    found.map(({ component, label }) => `${component} ${label}`),
    ["header number", "body 1", "body 2", "body 10"],
  );
  t.same(
    variablesOf(template({ type: "HEADER", format: "IMAGE" }, { type: "BODY", text: "No variable" })),
    [],
  );
  t.same(variablesOf({ name: "t" } as unknown as Template), []);
});

t.test(
  "the components of a message have the values of the variables, named ones with their names",
  async (t) => {
    const named = template({ type: "HEADER", text: "{{shop}}" }, { type: "BODY", text: "Hi {{1}}" });
    t.same(templateComponents(named, { "header shop": "Corner", "body 1": "Ann" }), {
      components: [
        { type: "header", parameters: [{ type: "text", parameter_name: "shop", text: "Corner" }] },
        { type: "body", parameters: [{ type: "text", text: "Ann" }] },
      ],
    });
    t.same(templateComponents(template({ type: "BODY", text: "No variable" }), {}), {});
  },
);
