import { DISPATCH_KEYS, EVENT_KEYS, type EventType } from "../enumerations.ts";
import { discriminated, object, type TSchema, Type, text } from "../types.ts";
import { AD_PAYLOADS } from "./ad-events.ts";
import { CHANNEL_PAYLOADS } from "./channel-events.ts";
import { EXAMPLE_CHANNEL, eventPayload } from "./envelope.ts";
import { MESSAGE_PAYLOADS } from "./message-events.ts";
import { PUBLICATION_PAYLOADS } from "./publication-events.ts";
import { TEMPLATE_PAYLOADS } from "./template-events.ts";

const UNKNOWN_UPDATE = { call_id: "wacid.HBgL", event: "connect" };

/** The payload of each event type. */
export const EVENT_PAYLOADS: Readonly<Record<EventType, TSchema>> = {
  ...MESSAGE_PAYLOADS,
  ...TEMPLATE_PAYLOADS,
  ...CHANNEL_PAYLOADS,
  ...AD_PAYLOADS,
  ...PUBLICATION_PAYLOADS,
  "platform.event": eventPayload("platform.event", {
    keys: DISPATCH_KEYS,
    sometimes: ["channel_id", "ad_account_id", "channel_external_ref", "raw"],
    data: object(
      {
        field: text("calls", "The platform's name of the update"),
        value: Type.Unknown({
          examples: [UNKNOWN_UPDATE],
          description: "The update itself, the same as `raw`",
        }),
      },
      { title: "PlatformEventData" },
    ),
    example: {
      channel_id: EXAMPLE_CHANNEL,
      data: { field: "calls", value: UNKNOWN_UPDATE },
      raw: UNKNOWN_UPDATE,
    },
  }),
  "webhook.test": eventPayload("webhook.test", {
    keys: [...EVENT_KEYS, null],
    data: object({}, { title: "TestData" }),
    example: { data: {} },
  }),
};

/** The body that Herald posts for an event of any type. */
export const anyEventPayload = discriminated("type", Object.values(EVENT_PAYLOADS), {
  title: "EventPayload",
  description: "The body of each attempt, byte for byte",
});
