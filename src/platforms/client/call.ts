import type { IncomingHttpHeaders } from "node:http";
import type { Readable } from "node:stream";
import { MINUTE, SECOND } from "../../runtime/durations.ts";
import { type EncodedBody, type Fields, isObject, parseAnswer } from "../bodies.ts";
import { PlatformFailure, unconfirmedCreate, unusableAnswer } from "../errors/failure.ts";
import {
  judge,
  type PauseWidth,
  type PlatformError,
  type RefusalVerdict,
  readPlatformError,
  type TokenOwner,
  withoutSecrets,
} from "../errors/verdicts.ts";

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
   * platform: a throttle of a use case pauses their asset, and only when the headers report a wait.
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
  /** Ids for the log entry. `client` and `batch_id`: whose share of the sockets the call uses. */
  about?: Fields;
  /** Aborted when the answer of a read is no longer needed. */
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
  | PausedCall;

/** Not sent: calls are paused for `wait` more milliseconds because of a platform limit. */
export interface PausedCall {
  outcome: "paused";
  wait: number;
  /** Present when the app's limit pauses the call of a background job. */
  pauses?: "app";
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
  /** When throttled: milliseconds to wait, and the scope of calls to pause. */
  wait: number;
  pauses?: PauseWidth;
}

export interface HttpRequest {
  /** The client for whom the request is sent, or its batches: the sockets to a host are shared between them. */
  client?: string | undefined;
  method: "GET" | "POST" | "DELETE";
  url: URL;
  headers: Record<string, string>;
  body?: string | Readable | undefined;
  /** Milliseconds for the whole request, excluding `uploadTimeoutMs`. */
  deadline: number;
  /** Additional milliseconds for the body when the API's caller streams it. */
  uploadTimeoutMs?: number | undefined;
  /** Aborted when the answer is no longer needed; not for streamed bodies. */
  signal?: AbortSignal | undefined;
}

/** The result of one HTTP request. */
export type TransportResult =
  | { outcome: "answered"; status: number; headers: IncomingHttpHeaders; text: string }
  | NoAnswer
  | NoSocket;

export interface Transport {
  run(request: HttpRequest): Promise<TransportResult>;
  /** Resolves at the first bytes of the response; the caller reads the body. */
  open(request: HttpRequest): Promise<StreamedResult>;
  /** Closes the keep-alive connections. */
  close(): void;
}

export type StreamedResult =
  | { outcome: "answered"; status: number; headers: IncomingHttpHeaders; body: Readable }
  | NoAnswer
  | NoSocket;

interface AnswerContext {
  owner: TokenOwner;
  /** Values to redact: platforms quote a malformed token in their error. */
  secrets: readonly string[];
}

/**
 * Classifies a response by the error code in its body, otherwise by its status. A 2xx must also have a valid
 * body.
 */
export function toOutcome(result: TransportResult, { owner, secrets }: AnswerContext): Outcome {
  if (result.outcome !== "answered") return result;
  const { status, text } = result;
  const body = parseAnswer(text);
  const error = readPlatformError(body);
  if (error) return refusalByCode(withoutSecrets(error, secrets), status, owner);
  if (status < 200 || status >= 300) return body === undefined ? unreadable(status) : refusalByStatus(status);
  if (body === true) return { outcome: "done", status, body: { success: true } }; // some endpoints return a bare true
  return isObject(body) && !("error" in body) ? { outcome: "done", status, body } : unreadable(status);
}

/** Classifies a response without an error code. */
export function refusalByStatus(status: number): Exclude<Outcome, { outcome: "done" }> {
  if (status < 400 || status >= 500) return unreadable(status);
  const verdict = VERDICT_BY_STATUS[status] ?? "invalid";
  const pauses = verdict === "throttled" ? ({ pauses: "use_case" } as const) : {};
  return { outcome: "refused", status, verdict, wait: MINUTE, ...pauses };
}

const unreadable = (status: number) => ({ outcome: "unreadable", status }) as const;

function refusalByCode(error: PlatformError, status: number, owner: TokenOwner): Refusal {
  const { verdict, wait, pauses } = judge(error, owner);
  return { outcome: "refused", status, verdict, error, wait, ...(pauses ? { pauses } : {}) };
}

const VERDICT_BY_STATUS: Readonly<Record<number, RefusalVerdict>> = {
  401: "permission",
  403: "permission",
  404: "missing",
  429: "throttled",
};

type FailedOutcome = Exclude<Outcome, { outcome: "done" }>;

/** The calls in progress have ended by then or soon after. */
const NO_SOCKET_WAIT_MS = 5 * SECOND;

/** Converts an unsuccessful outcome to a failure. */
export function toFailure(
  outcome: FailedOutcome,
  { effect, owner = "none" }: Pick<PlatformCall, "effect" | "owner">,
): PlatformFailure {
  if (effect === "create" && mayHaveHappened(outcome))
    return unconfirmedCreate(outcome.outcome === "refused" ? outcome.error : undefined);
  switch (outcome.outcome) {
    case "paused":
      return new PlatformFailure(
        "paused",
        "Calls are paused because the platform's limit was reached; try again later",
        { wait: outcome.wait, pauses: outcome.pauses },
      );
    case "no_socket":
      return new PlatformFailure(
        "no_socket",
        "Too many of your calls to this platform are in progress; nothing was sent",
        { wait: NO_SOCKET_WAIT_MS },
      );
    case "refused":
      return failureOfRefusal(outcome, owner);
    case "timeout":
      if (!outcome.sent && effect !== "read") return unreachable();
      return new PlatformFailure("timeout", "The platform did not respond in time", {
        retryable: effect === "read",
      });
    case "broken":
      if (!outcome.sent) return unreachable();
      return new PlatformFailure("disconnected", "The platform closed the connection before responding");
    case "unreadable":
      return unusableAnswer("The platform's response cannot be read");
  }
}

const mayHaveHappened = (outcome: FailedOutcome): boolean =>
  outcome.outcome === "unreadable" ||
  (outcome.outcome === "refused" && outcome.verdict === "transient") ||
  ((outcome.outcome === "timeout" || outcome.outcome === "broken") && outcome.sent);

const unreachable = () => new PlatformFailure("unreachable", "The platform cannot be reached");

function failureOfRefusal(refused: Refusal, owner: TokenOwner): PlatformFailure {
  const { verdict, error, wait, status, pauses } = refused;
  const message = error?.userMessage ?? error?.message ?? `The platform refused with status ${status}`;
  return new PlatformFailure(verdict, message, {
    owner,
    platformError: error,
    pauses,
    ...(verdict === "throttled" ? { wait } : {}),
  });
}
