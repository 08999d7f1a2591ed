import { object, type Static, Type } from "./types.ts";

const optionalText = (example: string) => Type.Optional(Type.String({ examples: [example] }));

export const platformError = object(
  {
    code: Type.Integer({ examples: [100] }),
    subcode: Type.Optional(Type.Integer({ examples: [1885272] })),
    type: optionalText("OAuthException"),
    message: Type.String({ examples: ["Invalid parameter"] }),
    user_title: optionalText("Budget is too low"),
    user_message: optionalText("The budget is below the platform's minimum"),
    details: optionalText("The recipient is not on the chat platform"),
    trace_id: optionalText("AqWvR3m0x8PZ1nT5kYcB7dL"),
    fields: Type.Optional(Type.Array(Type.String({ examples: ["daily_budget"] }))),
  },
  { title: "PlatformError", description: "The error that the platform returned" },
);

export type PlatformErrorDto = Static<typeof platformError>;
