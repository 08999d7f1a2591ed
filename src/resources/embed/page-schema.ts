import { embedError, embedResult, externalRef, platformId } from "../../schema/channels.ts";
import { EMBED_STATUSES, PLATFORMS, TRY_PHASES } from "../../schema/enumerations.ts";
import { nullable, object, oneOf, prefixedId, rule, type Static, Type } from "../../schema/types.ts";
import { EXAMPLE_TOKEN } from "./schema.ts";

/** The requests of the page itself. A malformed token is unknown, not invalid. */
export const tokenParams = object({
  token: Type.String({ maxLength: 1_024, examples: [EXAMPLE_TOKEN] }),
});

const id = Type.String({ examples: ["019a4f3e-8a54-7f0e-9d0b-3a1f5c7e9b21"] });

export const newTry = object({ platform: oneOf(PLATFORMS) });

export const startedTry = object({
  try_id: id,
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

export const embedState = object({
  session_id: prefixedId("es"),
  status: oneOf(EMBED_STATUSES),
  external_ref: nullable(externalRef),
  platforms: Type.Array(oneOf(PLATFORMS)),
  try: nullable(object({ try_id: id, platform: oneOf(PLATFORMS), phase: oneOf(TRY_PHASES) })),
  choices: Type.Optional(
    Type.Array(
      object({
        asset_id: platformId("1400000000000301"),
        name: Type.String({ examples: ["Café Aurora"] }),
        detail: Type.Optional(Type.String({ examples: ["+55 11 90000-0301"] })),
      }),
    ),
  ),
  pin: Type.Optional(object({ tries_left: Type.Integer({ minimum: 1 }) })),
  result: Type.Optional(embedResult),
  error: Type.Optional(embedError),
});

export type EmbedStateDto = Static<typeof embedState>;
