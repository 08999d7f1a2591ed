import type { Platform, RecipientKind } from "../schema/enumerations.ts";
import type { Outcome, PlatformCall, Refusal } from "./client/call.ts";
import type { PlatformClient } from "./client/client.ts";
import type { PlatformError } from "./errors/verdicts.ts";

/** The result of a send. Only `retry` is retried automatically: a person must not get a message twice. */
export type SendOutcome = SendVerdict & {
  /** The status of the platform's response; absent without one. */
  statusCode?: number;
};

type SendVerdict =
  | { outcome: "accepted"; platformMessageId: string | undefined }
  /** Permanent. `tokenDead`: the channel must be reconnected before it can send. */
  | { outcome: "refused"; error: PlatformError; tokenDead: boolean }
  /** Not sent. `wait`: milliseconds before the next attempt, when known. `pair`: too many messages to this person. */
  | { outcome: "retry"; error?: PlatformError; wait?: number; pair: boolean }
  /** The person may have received the message. */
  | { outcome: "unknown"; reason: UnknownReason };

/** Why the outcome of a request is unknown. no_receipt: the answer confirms nothing. fault: an error in this process. */
export type UnknownReason = "timeout" | "broken" | "unreadable" | "no_receipt" | "fault";

const PAIR_LIMIT_CODE = 131056;

/** The platform's confirmation of an accepted message. */
export type Receipt = { platformMessageId: string | undefined };

/** A message, or a part of one, whose request is built. */
export interface PreparedSend {
  /** When the platform has asked for a pause: until when nothing is sent. */
  findPause(): Promise<RetriedSend | undefined>;
  /** Writes the request without waiting for anything but a socket. */
  send(): Promise<SendOutcome>;
}

type RetriedSend = Extract<SendOutcome, { outcome: "retry" }>;

export function prepareSend(
  client: PlatformClient,
  call: PlatformCall,
  toReceipt: (body: unknown) => Receipt | undefined,
): PreparedSend {
  const prepared = client.prepare(call);
  return {
    async findPause() {
      const pause = await prepared.findPause();
      return pause && { outcome: "retry", wait: pause.wait, pair: false };
    },
    send: async () => toSendOutcome(await prepared.run(), toReceipt),
  };
}

/** Converts a call's outcome. */
export function toSendOutcome(
  outcome: Outcome,
  toReceipt: (body: unknown) => Receipt | undefined,
): SendOutcome {
  const verdict = judgeSend(outcome, toReceipt);
  return "status" in outcome ? { ...verdict, statusCode: outcome.status } : verdict;
}

/** A 200 without a receipt is `unknown`. */
function judgeSend(outcome: Outcome, toReceipt: (body: unknown) => Receipt | undefined): SendVerdict {
  switch (outcome.outcome) {
    case "done": {
      const receipt = toReceipt(outcome.body);
      return receipt ? { outcome: "accepted", ...receipt } : { outcome: "unknown", reason: "no_receipt" };
    }
    case "paused":
      return { outcome: "retry", wait: outcome.wait, pair: false };
    case "no_socket":
      return { outcome: "retry", pair: false };
    case "timeout":
    case "broken":
      return outcome.sent
        ? { outcome: "unknown", reason: outcome.outcome }
        : { outcome: "retry", pair: false };
    case "unreadable":
      return { outcome: "unknown", reason: "unreadable" };
    case "refused":
      return outcomeOfRefusal(outcome);
  }
}

function outcomeOfRefusal({ verdict, error, wait, status, pauses }: Refusal): SendVerdict {
  if (!error) return outcomeOfStatus(status, verdict);
  // The app's limit pauses no sends: this one is retried with the backoff of sends.
  const isPaused = pauses !== undefined && pauses !== "app";
  if (verdict === "throttled")
    return { outcome: "retry", error, pair: error.code === PAIR_LIMIT_CODE, ...(isPaused ? { wait } : {}) };
  if (verdict === "transient") return { outcome: "retry", error, pair: false };
  return { outcome: "refused", error, tokenDead: verdict === "token_dead" };
}

/** Handles a refusal without an error code, such as from a proxy. */
function outcomeOfStatus(status: number, verdict: Refusal["verdict"]): SendVerdict {
  if (verdict === "throttled") return { outcome: "retry", pair: false };
  const message = `The platform refused with status ${status}`;
  return {
    outcome: "refused",
    tokenDead: false,
    error: { code: status, message, transient: false, fields: [] },
  };
}

const PHONE = /^[1-9]\d{6,14}$/;

/** The person's country code, then an id; `ENT` marks an id shared across a parent business. */
const BUSINESS_SCOPED = /^[A-Z]{2}\.(ENT\.)?[A-Za-z0-9]{1,128}$/;

export const isBusinessScopedId = (id: string): boolean => BUSINESS_SCOPED.test(id);

/** A person's id, valid for one page or photo account. */
const SCOPED_ID = /^\d{1,32}$/;

/** Undefined when `to` is not a valid recipient on the platform. */
export function recipientKind(to: string, platform: Platform): RecipientKind | undefined {
  if (platform !== "chatapp") return SCOPED_ID.test(to) ? "scoped_id" : undefined;
  if (PHONE.test(to)) return "phone";
  // A business-scoped id is never treated as a phone number.
  return isBusinessScopedId(to) ? "business_scoped" : undefined;
}
