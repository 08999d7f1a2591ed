/**
 * The life of a message. `messages.status` is what tenants see; `sends.state` says how its sending stands and goes when that is
 * settled. All lists of states in SQL are derived from these two tables.
 */

/** What a status may become. The dispatcher moves `queued` and `unknown`, status webhooks move all, and may skip steps. */
export const MESSAGE_TRANSITIONS = {
  queued: ["accepted", "sent", "delivered", "read", "failed", "unknown"],
  /** The platform may have taken it. It fails after SEND_UNKNOWN_SECONDS with `outcome_unknown`, and then counts as unknown still. */
  unknown: ["accepted", "sent", "delivered", "read", "failed"],
  accepted: ["sent", "delivered", "read", "failed"],
  sent: ["delivered", "read", "failed"],
  delivered: ["read"],
  read: [],
  failed: [],
} as const;

type StoredMessageStatus = keyof typeof MESSAGE_TRANSITIONS;

/** What the state of a send may become; `sent`, the end of its row, is not a state. */
export const SEND_STATES = {
  /** An earlier message to the same person goes first. */
  behind: { next: ["waiting"], isLeased: false, isToBeSent: true },
  waiting: { next: ["in_hand"], isLeased: false, isToBeSent: true },
  /** Leased by a dispatcher. */
  in_hand: { next: ["waiting", "unknown"], isLeased: true, isToBeSent: true },
  /** Its request may have been written. Only the dispatcher that wrote it may say that it was not. */
  unknown: { next: ["waiting"], isLeased: false, isToBeSent: false },
} as const;

type SendState = keyof typeof SEND_STATES;

const statuses = Object.keys(MESSAGE_TRANSITIONS) as StoredMessageStatus[];
const transitionsOf = (status: StoredMessageStatus): readonly StoredMessageStatus[] =>
  MESSAGE_TRANSITIONS[status];

const sqlList = (names: readonly string[]): string => `(${names.map((name) => `'${name}'`).join(", ")})`;

const sendStatesWhere = (isWanted: (state: (typeof SEND_STATES)[SendState]) => boolean): string =>
  sqlList((Object.keys(SEND_STATES) as SendState[]).filter((name) => isWanted(SEND_STATES[name])));

/** SQL list: the statuses of a message whose sending is not settled. */
export const UNSETTLED_STATUSES = sqlList(
  statuses.filter((status) => transitionsOf(status).includes("accepted")),
);

/** SQL lists: the states of sends that are still to be sent, and of those that no dispatcher has. */
export const TO_BE_SENT_STATES = sendStatesWhere(({ isToBeSent }) => isToBeSent);
export const UNLEASED_STATES = sendStatesWhere(({ isToBeSent, isLeased }) => isToBeSent && !isLeased);

const PAIRS = statuses.flatMap((from) => transitionsOf(from).map((to) => `('${from}', '${to}')`)).join(", ");

/** SQL: whether a message may move from one status to another. */
export const canMove = (from: string, to: string): string => `(${from}, ${to}) in (${PAIRS})`;
