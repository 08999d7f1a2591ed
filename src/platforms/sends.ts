import type { Outcome, Refusal } from "./client/call.ts";
import type { PlatformError } from "./errors/platform-error.ts";

/** How an attempt to send a message ended. A person gets a message once: only `retry` may be tried again by itself. */
export type SendOutcome =
  | { outcome: "accepted"; platformMessageId: string | undefined }
  /** For good. `tokenDead`: the channel must be connected again before anything can be sent. */
  | { outcome: "refused"; error: PlatformError; tokenDead: boolean }
  /** Nothing was sent. `wait`: not before so many milliseconds, where it is known. `pair`: too many to this person. */
  | { outcome: "retry"; error?: PlatformError; wait?: number; pair: boolean }
  /** It may have reached the person. */
  | { outcome: "unknown" };

const PAIR_LIMIT_CODE = 131056;

/** What the platform said of a message that it took; undefined when its answer says nothing of the kind. */
export type Receipt = { platformMessageId: string | undefined };

/** What a call means for the message that it carried. */
export function toSendOutcome(
  outcome: Outcome,
  toReceipt: (body: unknown) => Receipt | undefined,
): SendOutcome {
  switch (outcome.outcome) {
    case "done": {
      const receipt = toReceipt(outcome.body);
      return receipt ? { outcome: "accepted", ...receipt } : { outcome: "unknown" };
    }
    case "held":
      return { outcome: "retry", wait: outcome.wait, pair: false };
    case "timeout":
    case "broken":
      return outcome.sent ? { outcome: "unknown" } : { outcome: "retry", pair: false };
    case "unreadable":
      return { outcome: "unknown" };
    case "refused":
      return outcomeOfRefusal(outcome);
  }
}

function outcomeOfRefusal({ verdict, error, wait, status, holds }: Refusal): SendOutcome {
  if (!error) return outcomeOfStatus(status, verdict);
  if (verdict === "throttled")
    return { outcome: "retry", error, pair: error.code === PAIR_LIMIT_CODE, ...(holds ? { wait } : {}) };
  if (verdict === "transient") return { outcome: "retry", error, pair: false };
  return { outcome: "refused", error, tokenDead: verdict === "token_dead" };
}

/** A refusal by something in between, which knows no codes. */
function outcomeOfStatus(status: number, verdict: Refusal["verdict"]): SendOutcome {
  if (verdict === "throttled") return { outcome: "retry", pair: false };
  const message = `The platform refused with status ${status}`;
  return {
    outcome: "refused",
    tokenDead: false,
    error: { code: status, message, transient: false, fields: [] },
  };
}
