import { nullable, object, oneOf, prefixedId, type Static, Type, timestamp } from "../types.ts";

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
