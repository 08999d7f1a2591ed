import t from "tap";
import type { Platform } from "../../../src/schema/enumerations.ts";
import { startApi } from "../../fixtures/http/api.ts";
import { makeSender, RECIPIENT_PHONE, textMessage } from "../../fixtures/messages/messages.ts";
import { makeChannel } from "../../fixtures/tenants/channels.ts";

const LINK = "https://shop.example.com/a.png";
const RECIPIENT_ID = "24012345678901234";

type Message = Record<string, unknown>;

const messageOfType = (type: string, content: unknown, extra: object = {}): Message => ({
  type,
  [type]: content,
  ...extra,
});

/** Messages each platform accepts. `to` is a valid recipient unless the message overrides it. */
const ACCEPTED: Record<Platform, Message[]> = {
  chatapp: [
    messageOfType("text", { body: "x".repeat(4096), preview_url: true }),
    messageOfType("text", { body: "🙂".repeat(4096) }),
    messageOfType("text", { body: "x", future_field: { any: [1, null] } }),
    ...["image", "video", "audio", "document", "sticker"].flatMap((type) => [
      messageOfType(type, { link: LINK, caption: "c", filename: "f" }),
      messageOfType(type, { id: "1166" }),
    ]),
    messageOfType("image", { link: "HTTP://shop.example.com/é" }),
    messageOfType("template", { name: "order_update", language: { code: "pt_BR", policy: "deterministic" } }),
    messageOfType("template", {
      name: "o",
      language: { code: "en" },
      components: [{ type: "body", parameters: [] }],
    }),
    messageOfType("location", { latitude: -90, longitude: 180, name: "n", address: "a" }),
    messageOfType("location", { latitude: "-23.55", longitude: "+46.6" }),
    messageOfType("contacts", [{ name: { formatted_name: "Ana", first_name: "Ana" }, phones: [] }]),
    messageOfType("interactive", { type: "button", body: { text: "?" }, action: { buttons: [] } }),
    messageOfType("interactive", { type: "cta_url" }),
    messageOfType("interactive", { type: "voice_call" }),
    messageOfType("interactive", { type: "a_type_of_next_year" }),
    messageOfType("reaction", { message_id: "wamid.x", emoji: "👍" }),
    messageOfType("reaction", { message_id: "wamid.x", emoji: "" }),
    messageOfType(
      "text",
      { body: "x" },
      { context: { message_id: "wamid.x" }, external_ref: "r", platform: "chatapp" },
    ),
    messageOfType("text", { body: "x" }, { external_ref: "é".repeat(256) }),
    messageOfType("text", { body: "x" }, { to: "1234567" }),
    messageOfType("text", { body: "x" }, { to: "123456789012345" }),
    messageOfType("text", { body: "x" }, { to: "US.13491208655302741918" }),
    messageOfType("text", { body: "x" }, { to: "BR.ENT.11815799212886844830" }),
    messageOfType("text", { body: "x" }, { to: `MY.${"a".repeat(128)}` }),
  ],
  photoapp: [
    messageOfType("text", { body: "é".repeat(500) }),
    ...["image", "video", "audio"].map((type) =>
      messageOfType(type, { link: LINK, caption: "x".repeat(1000) }),
    ),
    messageOfType("reaction", { message_id: "m_1", emoji: "" }),
    messageOfType("text", { body: "x" }, { messaging_type: "MESSAGE_TAG", tag: "HUMAN_AGENT" }),
    messageOfType("text", { body: "x" }, { to: "1", context: { message_id: "m_1" } }),
  ],
  socialapp: [
    messageOfType("text", { body: "é".repeat(2000) }),
    ...["image", "video", "audio", "document"].map((type) => messageOfType(type, { link: LINK })),
    messageOfType("image", { link: LINK, caption: "é".repeat(2000) }),
    messageOfType("reaction", { message_id: "m_1", emoji: "❤" }),
    ...["RESPONSE", "UPDATE", "UTILITY"].map((messaging_type) =>
      messageOfType("text", { body: "x" }, { messaging_type }),
    ),
    messageOfType("text", { body: "x" }, { to: "9".repeat(32), platform: "socialapp" }),
  ],
};

type Refusal = [why: string, message: Message, path: string, code?: string];

const UNSUPPORTED_TYPE = "unsupported_message_type";
const INVALID_RECIPIENT = "invalid_recipient";

const refusedMedia = ["image", "video", "audio", "document", "sticker"].flatMap((type): Refusal[] => [
  [`${type} with an id and a link`, messageOfType(type, { id: "1", link: LINK }), `/${type}/link`],
  [`${type} without id and link`, messageOfType(type, { caption: "c" }), `/${type}/link`],
  [`${type} with an empty id`, messageOfType(type, { id: "" }), `/${type}/id`],
  [`${type} with an ftp link`, messageOfType(type, { link: "ftp://shop.example.com/a" }), `/${type}/link`],
  [`${type} with a link without a host`, messageOfType(type, { link: "https:///a" }), `/${type}/link`],
  [`${type} that is a string`, messageOfType(type, LINK), `/${type}`],
  [`${type} that is null`, messageOfType(type, null), `/${type}`],
]);

const unsupportedOnPages = (types: string[]) =>
  types.map((type): Refusal => {
    const content = { location: { latitude: 1, longitude: 1 }, interactive: { type: "list" } }[type] ?? {
      link: LINK,
      name: "n",
      language: { code: "en" },
    };
    return [
      type,
      messageOfType(type, type === "contacts" ? [{ name: { formatted_name: "A" } }] : content),
      "/type",
      UNSUPPORTED_TYPE,
    ];
  });

const REFUSED: Record<Platform, Refusal[]> = {
  chatapp: [
    ["no type", { text: { body: "x" } }, "/type"],
    ["an unknown type", messageOfType("fax", {}), "/type", UNSUPPORTED_TYPE],
    ["an empty type", messageOfType("text", { body: "x" }, { type: "" }), "/type", UNSUPPORTED_TYPE],
    [
      "a large message of an unknown type",
      messageOfType("fax", { body: "x".repeat(100_000) }),
      "/type",
      UNSUPPORTED_TYPE,
    ],
    ["no content", { type: "text" }, "/text"],
    ["content of another type", { type: "text", image: { link: LINK } }, "/image"],
    ["content of two types", messageOfType("text", { body: "x" }, { image: { link: LINK } }), "/image"],
    ["an unknown field", messageOfType("text", { body: "x" }, { color: "red" }), "/color"],
    ["no body", messageOfType("text", {}), "/text/body"],
    ["an empty body", messageOfType("text", { body: "" }), "/text/body"],
    ["a body that is not a string", messageOfType("text", { body: 5 }), "/text/body"],
    ["an overlong body", messageOfType("text", { body: "x".repeat(4097) }), "/text/body"],
    ["U+0000", messageOfType("text", { body: "a\u0000" }), "/text/body"],
    ["an unpaired surrogate", messageOfType("text", { more: ["\ud800"], body: "x" }), "/text/more/0"],
    [
      "a preview_url that is not a boolean",
      messageOfType("text", { body: "x", preview_url: "yes" }),
      "/text/preview_url",
    ],
    ...refusedMedia,
    ["a template without a name", messageOfType("template", { language: { code: "en" } }), "/template/name"],
    ["a template without a language", messageOfType("template", { name: "n" }), "/template/language"],
    [
      "a language without a code",
      messageOfType("template", { name: "n", language: {} }),
      "/template/language/code",
    ],
    [
      "a language that is a string",
      messageOfType("template", { name: "n", language: "en" }),
      "/template/language",
    ],
    [
      "components that are not a list",
      messageOfType("template", { name: "n", language: { code: "en" }, components: {} }),
      "/template/components",
    ],
    ["a location without a longitude", messageOfType("location", { latitude: 1 }), "/location/longitude"],
    [
      "a latitude out of range",
      messageOfType("location", { latitude: 90.1, longitude: 1 }),
      "/location/latitude",
    ],
    [
      "a longitude that is not a number",
      messageOfType("location", { latitude: 1, longitude: "east" }),
      "/location/longitude",
    ],
    [
      "a longitude out of range",
      messageOfType("location", { latitude: "1", longitude: "181" }),
      "/location/longitude",
    ],
    ["no contacts", messageOfType("contacts", []), "/contacts"],
    ["contacts that are not a list", messageOfType("contacts", { name: {} }), "/contacts"],
    [
      "a contact without a name",
      messageOfType("contacts", [{ name: {} }]),
      "/contacts/0/name/formatted_name",
    ],
    ["an interactive message without a type", messageOfType("interactive", {}), "/interactive/type"],
    [
      "an interactive message with an empty type",
      messageOfType("interactive", { type: "" }),
      "/interactive/type",
    ],
    [
      "an interactive type that is no text",
      messageOfType("interactive", { type: ["list"] }),
      "/interactive/type",
    ],
    ["a reaction without a message_id", messageOfType("reaction", { emoji: "x" }), "/reaction/message_id"],
    ["a reaction without an emoji", messageOfType("reaction", { message_id: "m" }), "/reaction/emoji"],
    [
      "a context without a message_id",
      messageOfType("text", { body: "x" }, { context: {} }),
      "/context/message_id",
    ],
    [
      "a context with an unknown field",
      messageOfType("text", { body: "x" }, { context: { message_id: "m", a: 1 } }),
      "/context/a",
    ],
    ["an empty external_ref", messageOfType("text", { body: "x" }, { external_ref: "" }), "/external_ref"],
    [
      "an overlong external_ref",
      messageOfType("text", { body: "x" }, { external_ref: "x".repeat(257) }),
      "/external_ref",
    ],
    [
      "an external_ref that is null",
      messageOfType("text", { body: "x" }, { external_ref: null }),
      "/external_ref",
    ],
    [
      "a messaging_type, which only pages have",
      messageOfType("text", { body: "x" }, { messaging_type: "RESPONSE" }),
      "/messaging_type",
    ],
    ["a tag, which only pages have", messageOfType("text", { body: "x" }, { tag: "HUMAN_AGENT" }), "/tag"],
    ["another platform", messageOfType("text", { body: "x" }, { platform: "socialapp" }), "/platform"],
    ["an unknown platform", messageOfType("text", { body: "x" }, { platform: "fax" }), "/platform"],
    ["a malformed channel id", messageOfType("text", { body: "x" }, { channel_id: "ch_1" }), "/channel_id"],
    ["an empty recipient", messageOfType("text", { body: "x" }, { to: "" }), "/to", INVALID_RECIPIENT],
    ["a recipient that is not a string", messageOfType("text", { body: "x" }, { to: 5511988887777 }), "/to"],
    [
      "a number with a leading +",
      messageOfType("text", { body: "x" }, { to: `+${RECIPIENT_PHONE}` }),
      "/to",
      INVALID_RECIPIENT,
    ],
    [
      "a number with a leading 0",
      messageOfType("text", { body: "x" }, { to: "0119888877" }),
      "/to",
      INVALID_RECIPIENT,
    ],
    [
      "a number with too few digits",
      messageOfType("text", { body: "x" }, { to: "123456" }),
      "/to",
      INVALID_RECIPIENT,
    ],
    [
      "a number with too many digits",
      messageOfType("text", { body: "x" }, { to: "1234567890123456" }),
      "/to",
      INVALID_RECIPIENT,
    ],
    [
      "a number with a line break",
      messageOfType("text", { body: "x" }, { to: `${RECIPIENT_PHONE}\n` }),
      "/to",
      INVALID_RECIPIENT,
    ],
    [
      "an id with a lower-case country",
      messageOfType("text", { body: "x" }, { to: "us.1" }),
      "/to",
      INVALID_RECIPIENT,
    ],
    [
      "an id without its last part",
      messageOfType("text", { body: "x" }, { to: "US.ENT." }),
      "/to",
      INVALID_RECIPIENT,
    ],
    [
      "an overlong id",
      messageOfType("text", { body: "x" }, { to: `US.${"1".repeat(129)}` }),
      "/to",
      INVALID_RECIPIENT,
    ],
  ],
  photoapp: [
    ["a text with too many bytes", messageOfType("text", { body: "é".repeat(501) }), "/text/body"],
    [
      "an overlong caption",
      messageOfType("image", { link: LINK, caption: "x".repeat(1001) }),
      "/image/caption",
    ],
    ["media by id", messageOfType("video", { id: "1" }), "/video/id"],
    ...unsupportedOnPages(["document", "template", "sticker", "location", "contacts", "interactive"]),
    ["no digits", messageOfType("text", { body: "x" }, { to: "ana" }), "/to", INVALID_RECIPIENT],
    [
      "too many digits",
      messageOfType("text", { body: "x" }, { to: "1".repeat(33) }),
      "/to",
      INVALID_RECIPIENT,
    ],
    [
      "an unknown messaging_type",
      messageOfType("text", { body: "x" }, { messaging_type: "SHOUT" }),
      "/messaging_type",
    ],
    ["a missing tag", messageOfType("text", { body: "x" }, { messaging_type: "MESSAGE_TAG" }), "/tag"],
    ["a malformed tag", messageOfType("text", { body: "x" }, { tag: "a b" }), "/tag"],
  ],
  socialapp: [
    ["an overlong text", messageOfType("text", { body: "x".repeat(2001) }), "/text/body"],
    [
      "an overlong caption",
      messageOfType("document", { link: LINK, caption: "x".repeat(2001) }),
      "/document/caption",
    ],
    ["media by id", messageOfType("image", { id: "1" }), "/image/id"],
    ...unsupportedOnPages(["template", "sticker", "location", "contacts", "interactive"]),
    [
      "a number with a leading +",
      messageOfType("text", { body: "x" }, { to: "+5511" }),
      "/to",
      INVALID_RECIPIENT,
    ],
    ["a business-scoped id", messageOfType("text", { body: "x" }, { to: "US.1" }), "/to", INVALID_RECIPIENT],
  ],
};

t.test("message content", async (t) => {
  const api = await startApi(t, { settings: { RATE_LIMIT_PER_MINUTE: "0" } });

  for (const platform of ["chatapp", "photoapp", "socialapp"] as const) {
    const to = platform === "chatapp" ? RECIPIENT_PHONE : RECIPIENT_ID;
    t.test(`${platform} accepts each of its types and stores the content unchanged`, async (t) => {
      const sender = await makeSender(api);
      const channel = await makeChannel(api, sender.tenant, { platform });
      for (const message of ACCEPTED[platform]) {
        const reply = await sender.send({ channel_id: channel, to, ...message });
        t.equal(reply.status, 202, `${reply.text} to ${JSON.stringify(message).slice(0, 200)}`);
        const [row] = await api.db.query<{ content: string; options: string | null }>(
          "select content, options from messages where id = $1",
          [reply.body.message_id],
        );
        t.same(JSON.parse(row?.content as string), message[message.type as string]);
        const { context, messaging_type, tag } = message;
        t.same(
          JSON.parse(row?.options ?? "{}"),
          JSON.parse(JSON.stringify({ context, messaging_type, tag })),
        );
      }
    });

    t.test(`${platform} refuses invalid messages and names the field`, async (t) => {
      const sender = await makeSender(api);
      const channel = await makeChannel(api, sender.tenant, { platform });
      for (const [why, message, path, code = "validation_failed"] of REFUSED[platform]) {
        const { status, body } = await sender.send({ channel_id: channel, to, ...message });
        t.equal(status, 400, why);
        t.equal(body.error, code, why);
        const paths = body.details.map((detail: { path: string }) => detail.path);
        t.ok(paths.includes(path), `${why}: ${paths} has ${path}`);
      }
      t.same(await api.db.query("select 1 from messages where client_id = $1", [sender.tenant.id]), []);
    });
  }

  t.test("a number with a leading + gets an error that explains the format", async (t) => {
    const sender = await makeSender(api);
    const channel = await makeChannel(api, sender.tenant);
    const { body } = await sender.send(textMessage(channel, { to: `+${RECIPIENT_PHONE}` }));
    t.match(body, { error: "invalid_recipient", message: /digits only: no \+/ });
  });
});
