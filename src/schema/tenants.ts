import { ROLES, SCOPES } from "./enumerations.ts";
import { nullable, object, oneOf, prefixedId, type Static, Type, timestamp } from "./types.ts";

/** Fields of clients, users and API keys, shared by the API and the command line. */

export const entityName = (example: string) =>
  Type.String({
    minLength: 1,
    maxLength: 200,
    // Spaces, the first visible character, the rest: a choice of that character would take quadratic time.
    // No Unicode properties: not every tool that reads the API document knows them.
    pattern:
      "^[ \\u00a0\\u1680\\u2000-\\u200a\\u2028\\u2029\\u202f\\u205f\\u3000\\ufeff]*[^ \\u00a0\\u1680\\u2000-\\u200a\\u2028\\u2029\\u202f\\u205f\\u3000\\ufeff\\u0000-\\u001f\\u007f-\\u009f][^\\u0000-\\u001f\\u007f-\\u009f]*$",
    "x-message": "name must have 1 to 200 characters, at least one visible and no control characters",
    examples: [example],
  });

export const email = Type.String({ format: "email", maxLength: 254, examples: ["ada@example.com"] });

export const password = Type.String({
  minLength: 8,
  maxLength: 256,
  description: "8 to 256 characters",
  examples: ["correct horse battery"],
});

export const role = oneOf(ROLES);

export const scopes = Type.Array(oneOf(SCOPES), { minItems: 1, uniqueItems: true });

/** An entry of a client's audit log. */
export const auditEntry = object(
  {
    id: prefixedId("aud"),
    at: timestamp(),
    actor: object({
      type: oneOf(["user", "api_key", "operator", "service"], {
        description: "`operator`: the command line; `service`: Herald itself",
      }),
      id: Type.String({ examples: ["usr_01k9zv3m5q8x7w2r4t6y0a1b2c"] }),
      name: Type.String({ examples: ["Ada Lovelace"] }),
    }),
    action: Type.String({ examples: ["key.created"] }),
    target: nullable(
      Type.String({ description: "Id of the changed object", examples: ["key_01k9zv3m5q8x7w2r4t6y0a1b2c"] }),
    ),
    address: nullable(Type.String({ description: "IP address of the caller", examples: ["203.0.113.7"] })),
    request_id: nullable(Type.String({ examples: ["req_01k9zv3m5q8x7w2r4t6y0a1b2c"] })),
    details: Type.Object(
      {},
      { additionalProperties: true, examples: [{ name: "Shop backend", scopes: ["messages:send"] }] },
    ),
  },
  { title: "AuditEntryDto" },
);

export type AuditEntryDto = Static<typeof auditEntry>;
