/**
 * Lifecycle of a message. Clients see `messages.status`; `sends.state` tracks the sending, and its row is
 * deleted when the outcome is settled. All state lists in SQL are derived from these two tables.
 */

/**
 * Allowed next statuses. The dispatcher moves `queued` and `unknown`; status webhooks move all and may skip
 * steps.
 */
export const MESSAGE_TRANSITIONS = {
  /** The recovery of sends makes it queued at its time. */
  scheduled: ["queued", "failed", "cancelled"],
  queued: ["accepted", "sent", "delivered", "read", "failed", "unknown", "cancelled"],
  /**
   * The platform may have accepted the message. After SEND_UNKNOWN_SECONDS it fails with `outcome_unknown`,
   * but status webhooks still move it as if it were unknown. One that was not sent after all can be cancelled.
   */
  unknown: ["accepted", "sent", "delivered", "read", "failed", "cancelled"],
  accepted: ["sent", "delivered", "read", "failed"],
  sent: ["delivered", "read", "failed"],
  delivered: ["read"],
  read: [],
  failed: [],
  cancelled: [],
} as const;

type StoredMessageStatus = keyof typeof MESSAGE_TRANSITIONS;

/** Allowed next states of a send. There is no final state: the row is deleted. */
export const SEND_STATES = {
  /** Is not due yet. It has no place among the messages to the same person before its time. */
  scheduled: { next: ["behind", "waiting"], isLeased: false, isToBeSent: false },
  /** Waits for an earlier message to the same person. */
  behind: { next: ["waiting"], isLeased: false, isToBeSent: true },
  waiting: { next: ["claimed"], isLeased: false, isToBeSent: true },
  /** A dispatcher has it. With `sending_at` its request may have been written. */
  claimed: { next: ["waiting", "unknown"], isLeased: true, isToBeSent: true },
  /** The request may have been written. Only the dispatcher that claimed it may report that it was not. */
  unknown: { next: ["waiting"], isLeased: false, isToBeSent: false },
} as const;

type SendState = keyof typeof SEND_STATES;

const statuses = Object.keys(MESSAGE_TRANSITIONS) as StoredMessageStatus[];
const transitionsOf = (status: StoredMessageStatus): readonly StoredMessageStatus[] =>
  MESSAGE_TRANSITIONS[status];
const canBecome = (status: StoredMessageStatus, next: string): boolean =>
  transitionsOf(status).some((name) => name === next);

const sqlList = (names: readonly string[]): string => `(${names.map((name) => `'${name}'`).join(", ")})`;

const sendStatesWhere = (isWanted: (state: (typeof SEND_STATES)[SendState]) => boolean): string =>
  sqlList((Object.keys(SEND_STATES) as SendState[]).filter((name) => isWanted(SEND_STATES[name])));

/** SQL list: statuses of a message whose sending is not settled. */
export const UNSETTLED_STATUSES = sqlList(
  statuses.filter((status) => ["queued", "accepted"].some((next) => canBecome(status, next))),
);

/** SQL lists: states of sends that are to be sent now, and of those that are not claimed. */
export const TO_BE_SENT_STATES = sendStatesWhere(({ isToBeSent }) => isToBeSent);
export const UNLEASED_STATES = sendStatesWhere(({ isToBeSent, isLeased }) => isToBeSent && !isLeased);
/**
 * SQL: true for a send that can be cancelled: no part of it was sent, and no request may have been written. A dispatcher that has
 * claimed it cannot mark it afterwards.
 */
export const isCancellable = (send: string): string =>
  `(${send}.state <> 'unknown' and ${send}.sending_at is null and ${send}.parts_sent = 0)`;

const PAIRS = statuses.flatMap((from) => transitionsOf(from).map((to) => `('${from}', '${to}')`)).join(", ");

/** SQL: true when a message may move from one status to the other. */
export const canMove = (from: string, to: string): string => `(${from}, ${to}) in (${PAIRS})`;

/** Columns of a message that its events contain. */
export interface MessageEventRow {
  client_id: string;
  id: string;
  channel_id: string;
  platform: string;
  recipient: string;
  external_ref: string | null;
  channel_external_ref: string | null;
  platform_message_id: string | null;
}

/** Why a message failed, as JSON, and the code by which failures are counted. */
export interface StoredError {
  error: string;
  error_code: string;
}

export interface SettledSend extends MessageEventRow {
  /** Empty for a single message. */
  batch_id: string;
  /** Error of a failed message, as JSON. */
  error: string | null;
}

/** Columns of SettledSend, from the message `m`. */
export const SETTLED_COLUMNS = `
    m.client_id, m.id, m.channel_id, coalesce(m.batch_id, '') as batch_id, m.platform, m.recipient,
    m.platform_message_id, m.error, m.external_ref,
    (select c.external_ref from channels c where c.client_id = m.client_id and c.id = m.channel_id) as channel_external_ref`;

/**
 * SQL: prefix of the timeline of the message `m`: the `sending` step, if the send was started and the step is
 * missing.
 */
export const sendingStep = (startedAt: string): string => `case
      when ${startedAt} is null or m.timeline @> '[{"status": "sending"}]' then '[]'
      else jsonb_build_array(jsonb_build_object('status', 'sending', 'at', ${startedAt}))
    end`;

/** SQL: the timeline of a message that is accepted with this status. `queued` is not stored, unless the message was scheduled. */
export const firstTimeline = (status: string): string => `case
      when ${status} = 'scheduled' then jsonb_build_array(jsonb_build_object('status', 'scheduled', 'at', now()))
      else '[]'
    end`;

/** SQL: `finished_at` of the message `m`, which has now been sent or has failed. */
export const FINISHED_AT = "case when m.batch_id is not null then coalesce(m.finished_at, now()) end";

/** An attempt to send a message to its platform, without its number. */
export interface PlatformAttempt {
  /** When the first request was made, in ISO 8601. */
  at: string;
  outcome: "accepted" | "rejected" | "retry" | "unknown";
  /** The status of the last response; null without one. */
  status_code: number | null;
  /** Null when the dispatcher died before it measured it. */
  duration_ms: number | null;
  /** Why the message was rejected, is retried or has an unknown outcome, as JSON. */
  error: string | null;
}

/** A stored attempt; keys that are absent mean null. */
export type StoredAttempt = Partial<PlatformAttempt> &
  Pick<PlatformAttempt, "at" | "outcome"> & { attempt: number };

/** The retries of a day are fewer; a message that exceeds this keeps its first attempt and the last ones. */
const MAX_STORED_ATTEMPTS = 100;

/** SQL: the attempts with one more, which is a jsonb object. */
export const appendAttempt = (attempts: string, attempt: string): string => `
      case
        when jsonb_array_length(${attempts}) >= ${MAX_STORED_ATTEMPTS} then ${attempts} - 1
        else ${attempts}
      end || ${attempt}`;
