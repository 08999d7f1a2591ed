import { CHANNEL_STATUSES, PLATFORMS } from "../../schema/enumerations.ts";
import { object, oneOf, prefixedId, Type } from "../../schema/types.ts";

export const channelFilters = {
  platform: Type.Optional(oneOf(PLATFORMS, { description: "Only channels of this platform" })),
  status: Type.Optional(
    oneOf(CHANNEL_STATUSES, { description: "Default: all, including disconnected channels" }),
  ),
};

const channelId = prefixedId("ch", { description: "The channel" });

export const channelParams = object({ channel_id: channelId });

export const mediaParams = object({
  channel_id: channelId,
  media_id: Type.String({
    pattern: "^\\d{1,32}$",
    description: "The platform's media id, from a received message or an upload",
    examples: ["1037543291543636"],
  }),
});

export const uploadedMedia = object(
  {
    media_id: Type.String({
      description: "Use it as `id` in the content of a message; valid for 30 days",
      examples: ["1037543291543636"],
    }),
  },
  { title: "MediaUploadDto" },
);

export const markRead = object({
  message_id: Type.String({
    pattern: "^[\\x21-\\x7e]{1,512}$",
    description: "The `platform_message_id` of a received message",
    examples: ["wamid.HBgNNTUxMTk4ODg4Nzc3NxUCABIYFjNFQjBDMUQ4"],
  }),
  typing: Type.Optional(
    Type.Boolean({ default: false, description: "Whether the person also sees a typing indicator" }),
  ),
});
