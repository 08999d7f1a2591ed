import { embedError, embedResult, externalRef, platformId } from "../../schema/channels.ts";
import {
  EMBED_LOCALES,
  EMBED_STATUSES,
  EMBED_THEMES,
  PLATFORMS,
  TRY_PHASES,
} from "../../schema/enumerations.ts";
import {
  nullable,
  object,
  oneOf,
  openObject,
  prefixedId,
  rule,
  type Static,
  Type,
  timestamp,
} from "../../schema/types.ts";

const MAX_ORIGINS = 20;
export const DEFAULT_TTL_MINUTES = 30;
const MAX_TTL_MINUTES = 1_440;
const EXAMPLE_TOKEN = "4fJ2mQ9sT7vXbN1cK8dL0eR5gH3iW6yZpAoUuEqDx7Q";

export const ORIGIN_MESSAGE =
  "allowed_origins must be exact origins such as https://app.example.com: https, or http on localhost or 127.0.0.1; lower case, no path, no wildcard; an international host name in its punycode form, such as https://xn--caf-dma.example.com";

/** No character that could end a directive of a content security policy. The handler checks the rest. */
const origin = Type.String({
  pattern: "^https?://[a-z0-9.-]{1,253}(:[0-9]{1,5})?$",
  "x-message": ORIGIN_MESSAGE,
  maxLength: 270,
  examples: ["https://app.example.com"],
});

const text = (example: string) => Type.Optional(Type.String({ examples: [example] }));

const prefill = openObject(
  {
    business: Type.Optional(
      openObject({
        name: text("Café Aurora"),
        email: text("owner@cafe-aurora.example"),
        website: text("https://cafe-aurora.example"),
      }),
    ),
    phone: Type.Optional(openObject({ displayName: text("Café Aurora"), category: text("RESTAURANT") })),
  },
  {
    title: "EmbedPrefillDto",
    description: "Business data that pre-fills the chat platform's signup. Other fields are passed on too",
  },
);

const origins = Type.Array(origin, {
  minItems: 1,
  maxItems: MAX_ORIGINS,
  uniqueItems: true,
  description:
    "The origins of your pages that may embed the signup and receive its messages. An international host name is given in its punycode form",
});

const platforms = Type.Array(oneOf(PLATFORMS), { minItems: 1, uniqueItems: true });

export type PrefillDto = Static<typeof prefill>;

const theme = oneOf(EMBED_THEMES, {
  description:
    "The colours of the page. `light` and `dark` have a background; `auto` is light on a transparent background in a frame, and follows the system in a window of its own",
});

const locale = oneOf(EMBED_LOCALES, {
  description: "The language of the page; `auto`: the one that the person's browser prefers",
});

const accentColor = Type.String({
  pattern: "^#[0-9a-fA-F]{6}$",
  "x-message": "accent_color must be # and six hexadecimal digits, such as #1f5a9c",
  description:
    "The colour of the main button, of icons and of links. Its contrast to white must be at least 4.5 unless `theme` is `dark`; on a dark background the page lightens it as far as needed",
  examples: ["#1f5a9c"],
});

export const newEmbedSession = object(
  {
    allowed_origins: origins,
    platforms: Type.Optional(
      Type.Unsafe<Static<typeof platforms>>({
        ...platforms,
        description: "The channels that the page offers. Default: chatapp",
        examples: [["chatapp"]],
      }),
    ),
    external_ref: Type.Optional({
      ...externalRef,
      description: "Your own reference; returned unchanged in the event and in the result",
    }),
    ttl_minutes: Type.Optional(
      Type.Integer({
        minimum: 1,
        maximum: MAX_TTL_MINUTES,
        description: `How long the URL is valid, in minutes. Default: ${DEFAULT_TTL_MINUTES}`,
        examples: [DEFAULT_TTL_MINUTES],
      }),
    ),
    prefill: Type.Optional(prefill),
    theme: Type.Optional(theme),
    locale: Type.Optional(locale),
    accent_color: Type.Optional(accentColor),
  },
  { title: "CreateEmbedSessionDto" },
);

export type NewEmbedSessionDto = Static<typeof newEmbedSession>;

const commonFields = {
  id: prefixedId("es"),
  status: oneOf(EMBED_STATUSES, {
    description:
      "`pending`: the page was not opened yet. `failed`: the last try failed; the person can try again. Only `completed`, `expired` and `revoked` are final",
  }),
  expires_at: timestamp(),
  allowed_origins: origins,
  platforms,
  external_ref: nullable(externalRef),
  prefill: nullable(prefill),
  theme,
  locale,
  accent_color: nullable(accentColor),
  created_at: timestamp(),
};

export const createdEmbedSession = object(
  {
    ...commonFields,
    url: Type.String({
      description: "The page to embed in an iframe; it is shown only once",
      examples: [`https://herald.example.com/embed/${EXAMPLE_TOKEN}`],
    }),
    token: Type.String({ description: "The last part of `url`", examples: [EXAMPLE_TOKEN] }),
  },
  { title: "CreatedEmbedSessionDto" },
);

export type CreatedEmbedSessionDto = Static<typeof createdEmbedSession>;

export const embedSession = object(
  {
    ...commonFields,
    opened_at: nullable(timestamp()),
    completed_at: nullable(timestamp()),
    revoked_at: nullable(timestamp()),
    result: nullable(embedResult),
    error: nullable(embedError),
  },
  { title: "EmbedSessionDto" },
);

export type EmbedSessionDto = Static<typeof embedSession>;

export const embedSessionFilters = {
  status: Type.Optional(oneOf(EMBED_STATUSES, { description: "Only sessions with this status" })),
  external_ref: Type.Optional({ ...externalRef, description: "Only sessions with your own reference" }),
};

export const embedSessionParams = object({
  sessionId: prefixedId("es", { description: "The session" }),
});

/** The requests of the page itself. A malformed token is unknown, not invalid. */
export const tokenParams = object({
  token: Type.String({ maxLength: 1_024, examples: [EXAMPLE_TOKEN] }),
});

const tryId = Type.String({ examples: ["019a4f3e-8a54-7f0e-9d0b-3a1f5c7e9b21"] });

export const newTry = object({ platform: oneOf(PLATFORMS) });

export const startedTry = object({
  try_id: tryId,
  url: Type.String({ examples: ["https://www.example.com/v26.0/dialog/oauth?client_id=1"] }),
});

export const choice = object({ asset_id: platformId("1400000000000301") });

export const pinEntry = object({
  pin: Type.String({ pattern: "^[0-9]{6}$", "x-message": "pin must have six digits", examples: ["135790"] }),
});

const MAX_PARAM_CHARS = 4_096;

const callbackText = (minLength: 0 | 1) =>
  Type.String({ minLength, maxLength: MAX_PARAM_CHARS, examples: ["AQDx3kq"] });

export const callback = object(
  {
    state: Type.String({ minLength: 1, maxLength: 1_024, examples: ["es_01.019a4f3e.Vb3k.mhz3.pXo1"] }),
    code: Type.Optional(callbackText(1)),
    error: Type.Optional(callbackText(1)),
    error_description: Type.Optional(callbackText(0)),
  },
  {
    allOf: [
      rule("code", "either code or error must be given", {
        oneOf: [{ required: ["code"] }, { required: ["error"] }],
      }),
    ],
  },
);

export const callbackReply = object({ status: oneOf(EMBED_STATUSES) });

const assetChoice = object({
  asset_id: platformId("1400000000000301"),
  name: Type.String({ examples: ["Café Aurora"] }),
  detail: Type.Optional(Type.String({ examples: ["+55 11 90000-0301"] })),
});

export const embedState = object({
  session_id: prefixedId("es"),
  status: oneOf(EMBED_STATUSES),
  external_ref: nullable(externalRef),
  platforms: Type.Array(oneOf(PLATFORMS)),
  try: nullable(object({ try_id: tryId, platform: oneOf(PLATFORMS), phase: oneOf(TRY_PHASES) })),
  choices: Type.Optional(Type.Array(assetChoice)),
  pin: Type.Optional(
    object({ tries_left: Type.Integer({ minimum: 1 }), number: Type.Optional(assetChoice) }),
  ),
  result: Type.Optional(embedResult),
  error: Type.Optional(embedError),
  failed_platform: Type.Optional(oneOf(PLATFORMS)),
});

export type EmbedStateDto = Static<typeof embedState>;
