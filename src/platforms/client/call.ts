import type { PlatformError } from "../errors/platform-error.ts";
import type { HoldWidth, RefusalVerdict, TokenOwner } from "../errors/verdicts.ts";
import type { EncodedBody, Fields } from "./body.ts";

/**
 * What a call does there, which decides whether it may be repeated. A read may; a change may, by whoever asked for it; a
 * create has no second try once it may have left, for the platforms know no idempotency key.
 */
export type Effect = "read" | "change" | "create";

/** What a call counts against. */
export interface Quota {
  /** The ad account (without `act_`), business or page. */
  asset: string;
  /** As the platform names it in its usage headers. */
  useCase: string;
}

export interface PlatformCall {
  effect: Effect;
  method: "GET" | "POST" | "DELETE";
  /** Below the platform's address: `/act_1/campaigns`. */
  path: string;
  /** Sent in the Authorization header, with its proof. A call without one carries what it needs in its query. */
  token?: string;
  owner?: TokenOwner;
  query?: Fields;
  /** What of the query must not come back in an error: codes, and tokens that are asked about. */
  secrets?: readonly string[];
  body?: EncodedBody;
  quota?: Quota;
  /** Milliseconds for the whole call, further tries included. */
  deadline?: number;
  /** Milliseconds beside them for the body, where it comes from somebody who sends it at a pace of their own. */
  uploadTimeoutMs?: number;
  /** Ids for the log line, such as the client's. */
  about?: Fields;
}

/** How a call ended. An outcome is data; `callOrThrow` makes an error of what is not `done`. */
export type Outcome =
  | { outcome: "done"; status: number; body: unknown }
  | Refusal
  /** An answer in which nobody can read what happened. */
  | { outcome: "unreadable"; status: number }
  | NoAnswer
  /** Not called at all: the platform has asked us to stay away so many milliseconds more. */
  | { outcome: "held"; wait: number };

/** `sent`: the request may have reached the platform. `reason`: a code for the operator. */
export interface NoAnswer {
  outcome: "timeout" | "broken";
  sent: boolean;
  reason: string;
}

export interface Refusal {
  outcome: "refused";
  status: number;
  verdict: RefusalVerdict;
  /** Absent when the platform's answer has no code. */
  error?: PlatformError;
  /** When throttled: how long to stay away, in milliseconds, and what is kept from being called. */
  wait: number;
  holds?: HoldWidth;
}
