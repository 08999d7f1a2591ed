import { object, Type } from "../../schema/types.ts";

/** The platform's parameter names contain dots; further parameters are allowed. */
export const handshake = Type.Object(
  {
    "hub.mode": Type.Optional(Type.String({ description: "Always `subscribe`", examples: ["subscribe"] })),
    "hub.verify_token": Type.Optional(
      Type.String({ description: "The value of PLATFORM_VERIFY_TOKEN", examples: ["sandbox-verify-token"] }),
    ),
    "hub.challenge": Type.Optional(
      Type.String({ description: "The text to return", examples: ["1158201444"] }),
    ),
  },
  { additionalProperties: true },
);

export const acknowledgement = object(
  { received: Type.Literal(true) },
  { title: "WebhookTakenDto", description: "Recorded; the platform need not send it again" },
);

export const dataDeletion = object(
  {
    url: Type.String({ format: "uri", examples: ["https://herald.example.com/platform/data-deletion/x7Qd"] }),
    confirmation_code: Type.String({ examples: ["x7Qd4fJ2mQ9sT7vXbN1c"] }),
  },
  { title: "DataDeletionDto" },
);

export const dataDeletionParams = object({
  confirmation_code: Type.String({
    pattern: "^[0-9A-Za-z]{20}$",
    description: "The code from the answer to the deletion request",
    examples: ["x7Qd4fJ2mQ9sT7vXbN1c"],
  }),
});
