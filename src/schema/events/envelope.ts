import { API_VERSION, type DispatchKey, type EventKey, type EventType } from "../enumerations.ts";
import {
  nullable,
  object,
  oneOf,
  prefixedId,
  type TProperties,
  type TSchema,
  Type,
  timestamp,
} from "../types.ts";

export const EXAMPLE_TIME = "2026-11-01T09:30:00.000Z";
export const EXAMPLE_RECORDED_TIME = "2026-11-01T09:30:00.412Z";
export const EXAMPLE_CHANNEL = "ch_01jc8m4t7v2x5k9w3r6y1b0nqd";
export const EXAMPLE_AD_ACCOUNT = "act_1600000000000101";

const EXAMPLE_ID = "evt_01jc8m4t7v2x5k9w3r6y1b0nqd";

/** Fields that only some events have. */
const reference = (description: string) =>
  Type.String({ minLength: 1, maxLength: 256, examples: ["store-42"], description });

const OPTIONAL_FIELDS = {
  channel_id: prefixedId("ch"),
  ad_account_id: Type.String({ examples: [EXAMPLE_AD_ACCOUNT], description: "The ad platform's id" }),
  external_ref: reference("Your own reference of the message or the signup session"),
  channel_external_ref: reference("Your own reference of the channel"),
  raw: Type.Unknown({
    description: "The original JSON of the platform; absent when Herald itself is the source",
    examples: [{}],
  }),
};
type OptionalField = keyof typeof OPTIONAL_FIELDS;

/** How an event type differs from the others. */
interface PayloadOptions {
  /** The possible values of `key`; null for an event without one. */
  keys: readonly (EventKey | null)[];
  /** Fields of the envelope that are always present, and those that may be. */
  always?: readonly OptionalField[];
  sometimes?: readonly OptionalField[];
  data: TSchema;
  /** Values of the example besides id, type, version, key and time. */
  example: Record<string, unknown>;
}

const pick = (names: readonly OptionalField[]): TProperties =>
  Object.fromEntries(names.map((name) => [name, OPTIONAL_FIELDS[name]]));

const optionalPick = (names: readonly OptionalField[]): TProperties =>
  Object.fromEntries(names.map((name) => [name, Type.Optional(OPTIONAL_FIELDS[name])]));

const keySchema = (keys: PayloadOptions["keys"]) => {
  const named = oneOf(keys.filter((key) => key !== null));
  return keys.includes(null) ? nullable(named) : named;
};

/** `ad_account.token_expiring` becomes AdAccountTokenExpiring. */
export const eventName = (type: EventType): string =>
  type.replace(/(?:^|[._])(\w)/g, (_, letter: string) => letter.toUpperCase());

/** The schema of the body that Herald posts for an event of this type. */
export function eventPayload(type: EventType, options: PayloadOptions): TSchema {
  const { keys, always = [], sometimes = [], data, example } = options;
  return object(
    {
      id: prefixedId("evt", { description: "The same on every attempt; also the `webhook-id` header" }),
      test: Type.Optional(
        Type.Literal(true, {
          description:
            "Only in a test event that was sent with a `type`: its ids are examples, and its `data` is the example with the caller's changes, which need not match this schema",
        }),
      ),
      type: Type.Literal(type),
      api_version: Type.String({ examples: [API_VERSION] }),
      key: keySchema(keys),
      ...pick(always),
      ...optionalPick(sometimes),
      occurred_at: timestamp({ description: "The platform's time, often in whole seconds" }),
      recorded_at: timestamp({
        description: "When Herald recorded the event, in milliseconds: order events by it",
      }),
      data,
    },
    {
      title: `${eventName(type)}Event`,
      examples: [
        {
          id: EXAMPLE_ID,
          type,
          api_version: API_VERSION,
          key: keys[0],
          occurred_at: EXAMPLE_TIME,
          recorded_at: EXAMPLE_RECORDED_TIME,
          ...example,
        },
      ],
    },
  );
}

/** The envelope of events about a channel, with `raw` when the platform may be their source. */
export const channelEnvelope = (keys: readonly DispatchKey[]) =>
  ({ keys, always: ["channel_id"], sometimes: ["channel_external_ref", "raw"] }) as const;

/** The envelope of events that the ad platform reports about an ad account. */
export const AD_ACCOUNT_ENVELOPE = {
  keys: ["marketing"],
  always: ["ad_account_id"],
} as const;
