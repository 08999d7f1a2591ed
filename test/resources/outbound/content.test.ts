import t from "tap";
import type { Platform } from "../../../src/schema/enumerations.ts";
import { startApi } from "../../fixtures/http/api.ts";
import { makeSender, PHONE, textTo } from "../../fixtures/messages/messages.ts";
import { connect } from "../../fixtures/tenants/channels.ts";

const LINK = "https://shop.example.com/a.png";
const PERSON = "24012345678901234";

type Message = Record<string, unknown>;

const ofType = (type: string, content: unknown, more: object = {}): Message => ({
  type,
  [type]: content,
  ...more,
});

/** What each platform takes. `to` is somebody there unless the case says who. */
const TAKEN: Record<Platform, Message[]> = {
  chatapp: [
    ofType("text", { body: "x".repeat(4096), preview_url: true }),
    ofType("text", { body: "🙂".repeat(4096) }),
    ofType("text", { body: "x", future_field: { any: [1, null] } }),
    ...["image", "video", "audio", "document", "sticker"].flatMap((type) => [
      ofType(type, { link: LINK, caption: "c", filename: "f" }),
      ofType(type, { id: "1166" }),
    ]),
    ofType("image", { link: "HTTP://shop.example.com/é" }),
    ofType("template", { name: "order_update", language: { code: "pt_BR", policy: "deterministic" } }),
    ofType("template", {
      name: "o",
      language: { code: "en" },
      components: [{ type: "body", parameters: [] }],
    }),
    ofType("location", { latitude: -90, longitude: 180, name: "n", address: "a" }),
    ofType("location", { latitude: "-23.55", longitude: "+46.6" }),
    ofType("contacts", [{ name: { formatted_name: "Ana", first_name: "Ana" }, phones: [] }]),
    ofType("interactive", { type: "button", body: { text: "?" }, action: { buttons: [] } }),
    ofType("interactive", { type: "cta_url" }),
    ofType("reaction", { message_id: "wamid.x", emoji: "👍" }),
    ofType("reaction", { message_id: "wamid.x", emoji: "" }),
    ofType(
      "text",
      { body: "x" },
      { context: { message_id: "wamid.x" }, external_ref: "r", platform: "chatapp" },
    ),
    ofType("text", { body: "x" }, { external_ref: "é".repeat(256) }),
    ofType("text", { body: "x" }, { to: "1234567" }),
    ofType("text", { body: "x" }, { to: "123456789012345" }),
    ofType("text", { body: "x" }, { to: "US.13491208655302741918" }),
    ofType("text", { body: "x" }, { to: "BR.ENT.11815799212886844830" }),
    ofType("text", { body: "x" }, { to: `MY.${"a".repeat(128)}` }),
  ],
  photoapp: [
    ofType("text", { body: "é".repeat(500) }),
    ...["image", "video", "audio"].map((type) => ofType(type, { link: LINK, caption: "x".repeat(1000) })),
    ofType("reaction", { message_id: "m_1", emoji: "" }),
    ofType("text", { body: "x" }, { messaging_type: "MESSAGE_TAG", tag: "HUMAN_AGENT" }),
    ofType("text", { body: "x" }, { to: "1", context: { message_id: "m_1" } }),
  ],
  socialapp: [
    ofType("text", { body: "é".repeat(2000) }),
    ...["image", "video", "audio", "document"].map((type) => ofType(type, { link: LINK })),
    ofType("image", { link: LINK, caption: "é".repeat(2000) }),
    ofType("reaction", { message_id: "m_1", emoji: "❤" }),
    ...["RESPONSE", "UPDATE", "UTILITY"].map((messaging_type) =>
      ofType("text", { body: "x" }, { messaging_type }),
    ),
    ofType("text", { body: "x" }, { to: "9".repeat(32), platform: "socialapp" }),
  ],
};

type Refusal = [why: string, message: Message, path: string, code?: string];

const UNSUPPORTED = "unsupported_message_type";
const INVALID = "invalid_recipient";

const refusedMedia = ["image", "video", "audio", "document", "sticker"].flatMap((type): Refusal[] => [
  [`${type} with an id and a link`, ofType(type, { id: "1", link: LINK }), `/${type}/link`],
  [`${type} with neither`, ofType(type, { caption: "c" }), `/${type}/link`],
  [`${type} with an empty id`, ofType(type, { id: "" }), `/${type}/id`],
  [`${type} by ftp`, ofType(type, { link: "ftp://shop.example.com/a" }), `/${type}/link`],
  [`${type} without a host`, ofType(type, { link: "https:///a" }), `/${type}/link`],
  [`${type} that is a text`, ofType(type, LINK), `/${type}`],
  [`${type} that is null`, ofType(type, null), `/${type}`],
]);

const notOnPages = (types: string[]) =>
  types.map((type): Refusal => {
    const content = { location: { latitude: 1, longitude: 1 }, interactive: { type: "list" } }[type] ?? {
      link: LINK,
      name: "n",
      language: { code: "en" },
    };
    return [
      type,
      ofType(type, type === "contacts" ? [{ name: { formatted_name: "A" } }] : content),
      "/type",
      UNSUPPORTED,
    ];
  });

const REFUSED: Record<Platform, Refusal[]> = {
  chatapp: [
    ["no type", { text: { body: "x" } }, "/type"],
    ["a type that nobody knows", ofType("fax", {}), "/type", UNSUPPORTED],
    ["an empty type", ofType("text", { body: "x" }, { type: "" }), "/type", UNSUPPORTED],
    ["a large message of such a type", ofType("fax", { body: "x".repeat(100_000) }), "/type", UNSUPPORTED],
    ["no content", { type: "text" }, "/text"],
    ["content of another type", { type: "text", image: { link: LINK } }, "/image"],
    ["two contents", ofType("text", { body: "x" }, { image: { link: LINK } }), "/image"],
    ["a field nobody knows", ofType("text", { body: "x" }, { color: "red" }), "/color"],
    ["no body", ofType("text", {}), "/text/body"],
    ["an empty body", ofType("text", { body: "" }), "/text/body"],
    ["a body that is no text", ofType("text", { body: 5 }), "/text/body"],
    ["a body too long", ofType("text", { body: "x".repeat(4097) }), "/text/body"],
    ["U+0000", ofType("text", { body: "a\u0000" }), "/text/body"],
    ["half a surrogate pair", ofType("text", { more: ["\ud800"], body: "x" }), "/text/more/0"],
    ["a preview that is no boolean", ofType("text", { body: "x", preview_url: "yes" }), "/text/preview_url"],
    ...refusedMedia,
    ["a template without a name", ofType("template", { language: { code: "en" } }), "/template/name"],
    ["a template without a language", ofType("template", { name: "n" }), "/template/language"],
    ["a language without a code", ofType("template", { name: "n", language: {} }), "/template/language/code"],
    ["a language that is a text", ofType("template", { name: "n", language: "en" }), "/template/language"],
    [
      "components that are no list",
      ofType("template", { name: "n", language: { code: "en" }, components: {} }),
      "/template/components",
    ],
    ["a place without a longitude", ofType("location", { latitude: 1 }), "/location/longitude"],
    ["a place beyond the pole", ofType("location", { latitude: 90.1, longitude: 1 }), "/location/latitude"],
    ["a place by words", ofType("location", { latitude: 1, longitude: "east" }), "/location/longitude"],
    ["a place too far", ofType("location", { latitude: "1", longitude: "181" }), "/location/longitude"],
    ["no contacts", ofType("contacts", []), "/contacts"],
    ["contacts that are no list", ofType("contacts", { name: {} }), "/contacts"],
    ["a contact without a name", ofType("contacts", [{ name: {} }]), "/contacts/0/name/formatted_name"],
    ["an interactive message of no type", ofType("interactive", {}), "/interactive/type"],
    ["one of a type nobody knows", ofType("interactive", { type: "hologram" }), "/interactive/type"],
    ["a reaction to nothing", ofType("reaction", { emoji: "x" }), "/reaction/message_id"],
    ["a reaction that says nothing", ofType("reaction", { message_id: "m" }), "/reaction/emoji"],
    ["an answer to nothing", ofType("text", { body: "x" }, { context: {} }), "/context/message_id"],
    ["more context", ofType("text", { body: "x" }, { context: { message_id: "m", a: 1 } }), "/context/a"],
    ["an empty reference", ofType("text", { body: "x" }, { external_ref: "" }), "/external_ref"],
    [
      "a reference too long",
      ofType("text", { body: "x" }, { external_ref: "x".repeat(257) }),
      "/external_ref",
    ],
    ["a reference that is null", ofType("text", { body: "x" }, { external_ref: null }), "/external_ref"],
    ["the manner of pages", ofType("text", { body: "x" }, { messaging_type: "RESPONSE" }), "/messaging_type"],
    ["the tag of pages", ofType("text", { body: "x" }, { tag: "HUMAN_AGENT" }), "/tag"],
    ["another platform", ofType("text", { body: "x" }, { platform: "socialapp" }), "/platform"],
    ["a platform nobody knows", ofType("text", { body: "x" }, { platform: "fax" }), "/platform"],
    ["a channel that is none", ofType("text", { body: "x" }, { channel_id: "ch_1" }), "/channel_id"],
    ["nobody", ofType("text", { body: "x" }, { to: "" }), "/to", INVALID],
    ["a recipient that is no text", ofType("text", { body: "x" }, { to: 5511988887777 }), "/to"],
    ["a number with a +", ofType("text", { body: "x" }, { to: `+${PHONE}` }), "/to", INVALID],
    ["a number with a 0 before it", ofType("text", { body: "x" }, { to: "0119888877" }), "/to", INVALID],
    ["a number too short", ofType("text", { body: "x" }, { to: "123456" }), "/to", INVALID],
    ["a number too long", ofType("text", { body: "x" }, { to: "1234567890123456" }), "/to", INVALID],
    ["a number and a line", ofType("text", { body: "x" }, { to: `${PHONE}\n` }), "/to", INVALID],
    ["an id of no country", ofType("text", { body: "x" }, { to: "us.1" }), "/to", INVALID],
    ["an id without its end", ofType("text", { body: "x" }, { to: "US.ENT." }), "/to", INVALID],
    ["an id too long", ofType("text", { body: "x" }, { to: `US.${"1".repeat(129)}` }), "/to", INVALID],
  ],
  photoapp: [
    ["a text too long in bytes", ofType("text", { body: "é".repeat(501) }), "/text/body"],
    ["a caption too long", ofType("image", { link: LINK, caption: "x".repeat(1001) }), "/image/caption"],
    ["media by id", ofType("video", { id: "1" }), "/video/id"],
    ...notOnPages(["document", "template", "sticker", "location", "contacts", "interactive"]),
    ["no digits", ofType("text", { body: "x" }, { to: "ana" }), "/to", INVALID],
    ["too many digits", ofType("text", { body: "x" }, { to: "1".repeat(33) }), "/to", INVALID],
    ["a manner nobody knows", ofType("text", { body: "x" }, { messaging_type: "SHOUT" }), "/messaging_type"],
    ["a tag that is missing", ofType("text", { body: "x" }, { messaging_type: "MESSAGE_TAG" }), "/tag"],
    ["a tag that is none", ofType("text", { body: "x" }, { tag: "a b" }), "/tag"],
  ],
  socialapp: [
    ["a text too long", ofType("text", { body: "x".repeat(2001) }), "/text/body"],
    [
      "a caption too long",
      ofType("document", { link: LINK, caption: "x".repeat(2001) }),
      "/document/caption",
    ],
    ["media by id", ofType("image", { id: "1" }), "/image/id"],
    ...notOnPages(["template", "sticker", "location", "contacts", "interactive"]),
    ["a number with a +", ofType("text", { body: "x" }, { to: "+5511" }), "/to", INVALID],
    ["a business-scoped id", ofType("text", { body: "x" }, { to: "US.1" }), "/to", INVALID],
  ],
};

t.test("what can be sent", async (t) => {
  const api = await startApi(t, { settings: { RATE_LIMIT_PER_MINUTE: "0" } });

  for (const platform of ["chatapp", "photoapp", "socialapp"] as const) {
    const to = platform === "chatapp" ? PHONE : PERSON;
    t.test(`${platform} takes every type it has, and keeps the content as it was written`, async (t) => {
      const sender = await makeSender(api);
      const channel = await connect(api, sender.tenant, { platform });
      for (const message of TAKEN[platform]) {
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

    t.test(`${platform} refuses by name what is wrong`, async (t) => {
      const sender = await makeSender(api);
      const channel = await connect(api, sender.tenant, { platform });
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

  t.test("who writes a + is told how to write the number", async (t) => {
    const sender = await makeSender(api);
    const channel = await connect(api, sender.tenant);
    const { body } = await sender.send(textTo(channel, { to: `+${PHONE}` }));
    t.match(body, { error: "invalid_recipient", message: /without a leading \+/ });
  });
});
