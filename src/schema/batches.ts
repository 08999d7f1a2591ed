import { BATCH_STATUSES, MESSAGE_TYPES, PAUSE_REASONS } from "./enumerations.ts";
import { nullable, object, oneOf, prefixedId, type Static, Type, timestamp } from "./types.ts";

export const MAX_BATCH_MESSAGES = 1_000;

const NAME_EXAMPLE = "spring-sale";

export const batchName = Type.String({
  minLength: 1,
  maxLength: 120,
  examples: [NAME_EXAMPLE],
  description: "Your own name of the batch. Several batches may have the same one",
});

const count = () => Type.Integer({ minimum: 0, examples: [0] });

export const batchCounts = object(
  {
    scheduled: count(),
    queued: count(),
    sending: count(),
    accepted: count(),
    sent: count(),
    delivered: count(),
    read: count(),
    failed: count(),
    unknown: count(),
    cancelled: count(),
  },
  {
    title: "BatchCountsDto",
    description: "How many of its messages have each status; the sum is the number of accepted messages",
  },
);

const status = oneOf(BATCH_STATUSES, {
  description:
    "`paused`: nothing of it is sent until it is resumed. `finished`: nothing of it is still to be sent. `cancelled`: messages that were being sent at that time may still arrive",
});

const pauseReason = nullable(
  oneOf(PAUSE_REASONS, {
    description:
      "Why it is paused; null in any other status. `requested`: by a request. `channel`: its channel is not connected. `template`: the platform no longer sends its template. `failures`: most of the last messages failed with the same error of the platform",
  }),
);

export const BATCH_EXAMPLE = {
  batch_id: "bat_01jc8m4t7v2x5k9w3r6y1b0nqd",
  name: NAME_EXAMPLE,
  channel_id: "ch_01jc8m4t7v2x5k9w3r6y1b0nqd",
  type: "template",
  status: "running",
  pause_reason: null,
  counts: {
    scheduled: 0,
    queued: 812,
    sending: 4,
    accepted: 12,
    sent: 31,
    delivered: 96,
    read: 41,
    failed: 3,
    unknown: 0,
    cancelled: 0,
  },
  created_at: "2026-11-01T09:30:00.000Z",
  send_at: null,
  finished_at: null,
} as const;

/** Fields of a batch that its event has too. */
export const batchState = {
  batch_id: prefixedId("bat"),
  name: nullable(batchName),
  status,
  pause_reason: pauseReason,
  counts: batchCounts,
};

export const batch = object(
  {
    ...batchState,
    channel_id: prefixedId("ch"),
    type: oneOf(MESSAGE_TYPES),
    created_at: timestamp(),
    send_at: nullable(timestamp({ description: "When it starts; null if at once" })),
    finished_at: nullable(timestamp({ description: "When nothing of it was still to be sent" })),
  },
  { title: "BatchDto", examples: [BATCH_EXAMPLE] },
);

export type BatchDto = Static<typeof batch>;

export const acceptedBatch = object(
  {
    batch_id: prefixedId("bat"),
    status,
    accepted: Type.Integer({ minimum: 1, maximum: MAX_BATCH_MESSAGES, examples: [999] }),
    rejected: Type.Array(
      object(
        {
          index: Type.Integer({
            minimum: 0,
            description: "The place in `messages`, from 0 on",
            examples: [41],
          }),
          error: Type.String({ description: "An error code", examples: ["invalid_recipient"] }),
          message: Type.String({ examples: ["to must be a phone number with country code"] }),
        },
        { title: "RejectedMessageDto" },
      ),
      { description: "Messages that were not accepted: they are not part of the batch" },
    ),
    created_at: timestamp(),
  },
  {
    title: "AcceptedBatchDto",
    examples: [
      {
        batch_id: BATCH_EXAMPLE.batch_id,
        status: "running",
        accepted: 999,
        rejected: [
          {
            index: 41,
            error: "invalid_recipient",
            message: "to must be a phone number with country code, digits only: no +, spaces or dashes",
          },
        ],
        created_at: BATCH_EXAMPLE.created_at,
      },
    ],
  },
);

export type AcceptedBatchDto = Static<typeof acceptedBatch>;
