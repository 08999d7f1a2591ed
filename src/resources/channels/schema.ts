import { CHANNEL_STATUSES, PLATFORMS } from "../../schema/enumerations.ts";
import { object, oneOf, prefixedId, Type } from "../../schema/types.ts";

export const channelFilters = {
  platform: Type.Optional(oneOf(PLATFORMS)),
  status: Type.Optional(oneOf(CHANNEL_STATUSES, { description: "Absent: all, disconnected ones too" })),
};

export const channelParams = object({ channel_id: prefixedId("ch") });

export const mediaParams = object({
  channel_id: prefixedId("ch"),
  media_id: Type.String({
    pattern: "^\\d{1,32}$",
    description: "As the platform gave it, with a message or for an upload",
    examples: ["1037543291543636"],
  }),
});

export const uploadedMedia = object(
  {
    media_id: Type.String({
      description: "Names the file in the content of a message, for 30 days",
      examples: ["1037543291543636"],
    }),
  },
  { title: "MediaUploadDto" },
);

export const markRead = object({
  message_id: Type.String({
    pattern: "^[\\x21-\\x7e]{1,512}$",
    description: "The `platform_message_id` of a message that was received",
    examples: ["wamid.HBgNNTUxMTk4ODg4Nzc3NxUCABIYFjNFQjBDMUQ4"],
  }),
  typing: Type.Optional(
    Type.Boolean({ default: false, description: "Whether the person also sees that you are typing" }),
  ),
});
