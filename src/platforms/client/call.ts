import type { IncomingHttpHeaders } from "node:http";
import type { Readable } from "node:stream";
import type { PlatformError } from "../errors/platform-error.ts";
import type { HoldWidth, RefusalVerdict, TokenOwner } from "../errors/verdicts.ts";
import type { EncodedBody, Fields } from "./body.ts";

/**
 * Decides whether a call may be repeated. Herald retries reads; only the caller repeats a change; a create is
 * never repeated once it may have been sent, because the platforms support no idempotency key.
 */
export type Effect = "read" | "change" | "create";

/** The quota a call counts against. */
export interface Quota {
  /** The ad account (without `act_`), business or page. */
  asset: string;
  /**
   * The use case's name in the platform's usage headers. Absent for calls that have none, such as sends of the chat
   * platform: a throttle of a use case holds their asset, and only when the headers report a wait.
   */
  useCase?: string;
}

export interface PlatformCall {
  effect: Effect;
  method: "GET" | "POST" | "DELETE";
  /** Relative to the platform's base URL: `/act_1/campaigns`. */
  path: string;
  /** Sent in the Authorization header with its proof. Calls without a token authenticate in the query. */
  token?: string;
  owner?: TokenOwner;
  query?: Fields;
  /** Query values to redact from errors: codes and inspected tokens. */
  secrets?: readonly string[];
  body?: EncodedBody;
  quota?: Quota;
  /** Milliseconds for the whole call, including retries. */
  deadline?: number;
  /** Additional milliseconds for the body when the API's caller streams it. */
  uploadTimeoutMs?: number;
  /** Ids for the log entry. `client`: the client whose share of the sockets the call uses. */
  about?: Fields;
  /** Aborted when the answer of a read is not needed any more. */
  signal?: AbortSignal | undefined;
}

/** The result of a call; `callOrThrow` throws a PlatformFailure for every outcome except `done`. */
export type Outcome =
  | { outcome: "done"; status: number; body: unknown }
  | Refusal
  /** The response does not show whether the call succeeded. */
  | { outcome: "unreadable"; status: number }
  | NoAnswer
  | NoSocket
  | HeldBack;

/** Not sent: calls are on hold for `wait` more milliseconds because of a platform limit. */
export interface HeldBack {
  outcome: "held";
  wait: number;
  /** Present when the app's limit holds the call of a background job. */
  holds?: "app";
}

/** `sent`: the request may have reached the platform. `reason`: an error code for operators. */
export interface NoAnswer {
  outcome: "timeout" | "broken";
  sent: boolean;
  reason: string;
}

/** Not sent: the client's calls in progress used all its sockets to the platform until the deadline. */
export interface NoSocket {
  outcome: "no_socket";
}

export interface Refusal {
  outcome: "refused";
  status: number;
  verdict: RefusalVerdict;
  /** Absent when the response has no error code. */
  error?: PlatformError;
  /** When throttled: milliseconds to wait, and the scope of calls to hold. */
  wait: number;
  holds?: HoldWidth;
}

export interface HttpRequest {
  /** The client for whom the request is sent: the sockets to a host are shared between clients. */
  client?: string | undefined;
  method: "GET" | "POST" | "DELETE";
  url: URL;
  headers: Record<string, string>;
  body?: string | Readable | undefined;
  /** Milliseconds for the whole exchange, excluding `uploadTimeoutMs`. */
  deadline: number;
  /** Additional milliseconds for the body when the API's caller streams it. */
  uploadTimeoutMs?: number | undefined;
  /** Aborted when the answer is not needed any more; not for streamed bodies. */
  signal?: AbortSignal | undefined;
}

/** The result of one HTTP exchange. */
export type Exchange =
  | { outcome: "answered"; status: number; headers: IncomingHttpHeaders; text: string }
  | NoAnswer
  | NoSocket;

export interface Exchanges {
  run(request: HttpRequest): Promise<Exchange>;
  /** Resolves at the first bytes of the response; the caller reads the body. */
  open(request: HttpRequest): Promise<OpenExchange>;
  /** Closes the keep-alive connections. */
  close(): void;
}

export type OpenExchange =
  | { outcome: "answered"; status: number; headers: IncomingHttpHeaders; body: Readable }
  | NoAnswer
  | NoSocket;

/** Limits memory and parsing time per response; a page of 500 insights rows is far smaller. */
export const MAX_ANSWER_BYTES = 8 * 1024 * 1024;

/** These errors precede the connection, although a runtime may report the connection first. */
export const NOT_SENT_CODES = new Set(["ECONNREFUSED", "ENOTFOUND", "EAI_AGAIN"]);
