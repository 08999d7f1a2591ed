import { CHANNEL_STATUSES, PLATFORMS } from "../../schema/enumerations.ts";
import { object, oneOf, prefixedId, Type } from "../../schema/types.ts";

export const channelFilters = {
  platform: Type.Optional(oneOf(PLATFORMS)),
  status: Type.Optional(oneOf(CHANNEL_STATUSES, { description: "Absent: all, disconnected ones too" })),
};

export const channelParams = object({ channel_id: prefixedId("ch") });
