import t from "tap";
import { exampleOf } from "../../../src/http/openapi/example-of.ts";
import { CONTENT_SCHEMAS, sendMessage, sendMessageDocs } from "../../../src/resources/outbound/schema.ts";
import { MESSAGE_TYPES, type MessageType } from "../../../src/schema/enumerations.ts";
import { createValidator } from "../../../src/schema/validate.ts";

const { json } = createValidator();
const [isChecked, isDocumented] = [sendMessage, sendMessageDocs].map((schema) => {
  const check = json(schema);
  return (body: object) => check(body).length === 0;
}) as [(body: object) => boolean, (body: object) => boolean];

const RECIPIENT = { channel_id: "ch_01jc8m4t7v2x5k9w3r6y1b0nqd", to: "5511988887777" };

/** A valid content; media takes an id or a link, not both. */
function contentOf(type: MessageType): unknown {
  const content = exampleOf(CONTENT_SCHEMAS[type], type);
  const { link, ...rest } = content as Record<string, unknown>;
  return link === undefined ? content : rest;
}

/** Bodies of one message type, by what is special about them; only those of `valid` are accepted. */
function bodiesOf(type: MessageType): { valid: Record<string, object>; invalid: Record<string, object> } {
  const other = type === "text" ? "reaction" : "text";
  const body = { ...RECIPIENT, type, [type]: contentOf(type) };
  const { [type]: _, ...withoutContent } = body as Record<string, unknown>;
  return {
    valid: {
      "only the required fields": body,
      "all options": {
        ...body,
        context: { message_id: "wamid.1" },
        external_ref: "order-1042",
        messaging_type: "MESSAGE_TAG",
        tag: "HUMAN_AGENT",
        platform: "socialapp",
      },
    },
    invalid: {
      "no content": withoutContent,
      "the content of another type": { ...withoutContent, [other]: contentOf(other) },
      "two contents": { ...body, [other]: contentOf(other) },
      "a content that is null": { ...body, [type]: null },
      "an unknown field": { ...body, colour: "red" },
      "no recipient": { ...body, to: undefined },
      "a tag that is missing": { ...body, messaging_type: "MESSAGE_TAG" },
      "an empty reference": { ...body, external_ref: "" },
    },
  };
}

t.test("the documented union accepts and rejects the same messages as the check", async (t) => {
  for (const type of MESSAGE_TYPES) {
    const { valid, invalid } = bodiesOf(type);
    for (const [name, body] of Object.entries(valid))
      t.ok(isChecked(body) && isDocumented(body), `${type} with ${name} is accepted`);
    for (const [name, body] of Object.entries(invalid))
      t.notOk(isChecked(body) || isDocumented(body), `${type} with ${name} is rejected`);
  }
  for (const body of [{}, RECIPIENT, { ...RECIPIENT, type: "letter" }, { ...RECIPIENT, type: 1 }])
    t.notOk(isChecked(body) || isDocumented(body), JSON.stringify(body));
});
