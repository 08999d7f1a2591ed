import { ROLES, SCOPES } from "../../schema/enumerations.ts";
import { email, role } from "../../schema/tenants.ts";
import { nullable, object, oneOf, prefixedId, type Static, Type, timestamp } from "../../schema/types.ts";

const clientId = Type.String({ format: "uuid", examples: ["6f1d3c2a-8a54-4f0e-9d0b-3a1f5c7e9b21"] });

export const loginRequest = object(
  {
    email,
    password: Type.String({ maxLength: 1_024, examples: ["correct horse battery"] }),
  },
  { title: "LoginDto" },
);

export const session = object(
  {
    token: Type.String({
      description: "Send it as `Authorization: Bearer <token>`",
      examples: ["eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiJ1c3IifQ.c2lnbmF0dXJl"],
    }),
    expires_in: Type.Integer({ description: "Lifetime of the token in seconds", examples: [43_200] }),
    user: object({
      id: prefixedId("usr"),
      name: Type.String({ examples: ["Ada Lovelace"] }),
      email,
      role,
      client_id: clientId,
    }),
  },
  { title: "SessionDto" },
);

export const userSession = object(
  {
    id: prefixedId("ses"),
    created_at: timestamp(),
    last_used_at: timestamp({ description: "Accurate to the minute" }),
    expires_at: timestamp(),
    address: nullable(
      Type.String({
        description: "IP address of the sign-in; null for a token issued on the command line",
        examples: ["203.0.113.7"],
      }),
    ),
    user_agent: nullable(
      Type.String({
        description: "The first 512 characters of the sign-in's User-Agent",
        examples: ["Mozilla/5.0"],
      }),
    ),
    current: Type.Boolean({ description: "Whether this request uses the session" }),
  },
  { title: "UserSessionDto" },
);

export type UserSessionDto = Static<typeof userSession>;

export const sessionParams = object({ id: prefixedId("ses", { description: "The session" }) });

export const me = object(
  {
    client_id: clientId,
    client_name: Type.String({ examples: ["Corner Shop Software"] }),
    credential: object({
      type: oneOf(["api_key", "user"]),
      id: Type.String({ examples: ["key_01k9zv3m5q8x7w2r4t6y0a1b2c"] }),
      name: Type.String({ examples: ["Shop backend"] }),
    }),
    role: nullable(oneOf(ROLES, { description: "Null for an API key" })),
    scopes: Type.Array(oneOf(SCOPES)),
  },
  { title: "MeDto" },
);
