import { object, type Static, Type } from "./types.ts";

const words = (example: string) => Type.Optional(Type.String({ examples: [example] }));

export const platformError = object(
  {
    code: Type.Integer({ examples: [100] }),
    subcode: Type.Optional(Type.Integer({ examples: [1885272] })),
    type: words("OAuthException"),
    message: Type.String({ examples: ["Invalid parameter"] }),
    user_title: words("Budget is too low"),
    user_message: words("The budget is below the least that the platform takes"),
    details: words("The recipient is not on the chat platform"),
    trace_id: words("AqWvR3m0x8PZ1nT5kYcB7dL"),
    fields: Type.Optional(Type.Array(Type.String({ examples: ["daily_budget"] }))),
  },
  { title: "PlatformError", description: "What the platform said when it refused" },
);

export type PlatformErrorDto = Static<typeof platformError>;
