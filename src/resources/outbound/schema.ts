import { externalRef } from "../../schema/channels.ts";
import { MESSAGE_STATUSES } from "../../schema/enumerations.ts";
import { object, oneOf, prefixedId, Type, timestamp } from "../../schema/types.ts";

export const messageParams = object({ message_id: prefixedId("msg", { description: "The message" }) });

export const messageFilters = {
  channel_id: Type.Optional(prefixedId("ch", { description: "Only messages of this channel" })),
  status: Type.Optional(oneOf(MESSAGE_STATUSES, { description: "Only messages with this status" })),
  to: Type.Optional(
    Type.String({
      minLength: 1,
      maxLength: 160,
      description: "Only messages to this recipient, written as in the request",
      examples: ["5511988887777"],
    }),
  ),
  external_ref: Type.Optional({ ...externalRef, description: "Only messages with your own reference" }),
  since: Type.Optional(
    timestamp({
      description: "Only messages created at or after this time",
      examples: ["2026-11-01T00:00:00.000Z"],
    }),
  ),
  until: Type.Optional(
    timestamp({
      description: "Only messages created at or before this time",
      examples: ["2026-11-02T00:00:00.000Z"],
    }),
  ),
};
