import { entityName, scopes } from "../../schema/tenants.ts";
import { nullable, object, prefixedId, type Static, Type, timestamp } from "../../schema/types.ts";

const name = entityName("Shop backend");

export const apiKey = object(
  {
    id: prefixedId("key"),
    name,
    prefix: Type.String({
      description: "The first characters of the key",
      examples: ["svc_live_01k9zv"],
    }),
    last4: Type.String({ description: "The last four characters of the key", examples: ["x7Qd"] }),
    scopes,
    created_at: timestamp(),
    created_by: nullable(
      object(
        {
          user_id: Type.String({ examples: ["usr_01k9zv3m5q8x7w2r4t6y0a1b2c"] }),
          name: Type.String({ examples: ["Ada Lovelace"] }),
          enabled: nullable(
            Type.Boolean({ description: "Null for a user of an identity provider, who has no entry here" }),
          ),
        },
        { description: "The user who created the key; null for a key made on the command line" },
      ),
    ),
    expires_at: nullable(timestamp()),
    last_used_at: nullable(timestamp({ description: "Accurate to the minute" })),
    revoked_at: nullable(timestamp()),
    replaced_by: nullable(
      prefixedId("key", {
        description: "The key that took its place when it was rotated; until `expires_at` both work",
      }),
    ),
  },
  { title: "ApiKeyDto" },
);

export type ApiKeyDto = Static<typeof apiKey>;

export const createdApiKey = object(
  {
    ...apiKey.properties,
    key: Type.String({
      description: "The complete key; it is shown only once",
      examples: ["svc_live_01k9zv3m5q8x7w2r4t6y0a1b2c_4fJ2mQ9sT7vXbN1cK8dL0eR5gH3iW6yZpAoUuEqDx7Q"],
    }),
  },
  { title: "CreatedApiKeyDto" },
);

export const newApiKey = object(
  {
    name,
    scopes,
    expires_at: Type.Optional(
      timestamp({
        description: "Must be in the future. Default: the key does not expire",
        examples: ["2099-12-31T23:59:59.000Z"],
      }),
    ),
  },
  { title: "CreateApiKeyDto" },
);

export const rotation = object(
  {
    grace_minutes: Type.Optional(
      Type.Integer({
        minimum: 0,
        maximum: 10_080,
        description: "How long the old key keeps working, in minutes. Default: 0",
        examples: [60],
      }),
    ),
  },
  { title: "RotateApiKeyDto" },
);

export const keyParams = object({ id: prefixedId("key", { description: "The API key's id, not its text" }) });
