import type { HeraldError } from "./errors.ts";

/**
 * How far a request may be repeated.
 *
 * - repeatable: a repetition has no further effect. Every read, and the routes that the API marks `x-repeatable`.
 * - keyed: the request carries an Idempotency-Key, so that the API carries it out only once.
 * - single: a repetition may do the work twice.
 */
export type RetryClass = "repeatable" | "keyed" | "single";

/**
 * - not_connected: the connection was never opened, so the API did not get the request.
 * - no_answer: the connection broke, or the attempt took too long; the API may have carried out the request.
 * - in_progress: an earlier attempt with the same Idempotency-Key is still running.
 * - unavailable: a 503 of Herald, which did not carry out the request; a proxy's 503 is `gateway_unavailable`.
 * - final: the answer would be the same again.
 */
export type FailureKind =
  | "not_connected"
  | "no_answer"
  | "in_progress"
  | "request_timeout"
  | "rate_limited"
  | "bad_gateway"
  | "unavailable"
  | "gateway_unavailable"
  | "gateway_timeout"
  | "final";

/** Which requests are repeated after which failure. */
export const RETRIES: Readonly<Record<FailureKind, readonly RetryClass[]>> = {
  not_connected: ["repeatable", "keyed", "single"],
  no_answer: ["repeatable", "keyed"],
  in_progress: ["keyed"],
  request_timeout: ["repeatable", "keyed"],
  rate_limited: ["repeatable", "keyed", "single"],
  bad_gateway: ["repeatable", "keyed"],
  unavailable: ["repeatable", "keyed", "single"],
  gateway_unavailable: ["repeatable", "keyed"],
  gateway_timeout: ["repeatable", "keyed"],
  final: [],
};

const KIND_BY_STATUS: Readonly<Record<number, FailureKind>> = {
  408: "request_timeout",
  429: "rate_limited",
  502: "bad_gateway",
  503: "gateway_unavailable",
  504: "gateway_timeout",
};

/** The kind of an answer with an error; `code` is undefined when the answer is not Herald's. */
export function kindOfAnswer(status: number, code: string | undefined): FailureKind {
  if (code === "idempotency_in_progress") return "in_progress";
  if (status === 503 && code !== undefined) return "unavailable";
  return KIND_BY_STATUS[status] ?? "final";
}

/** System calls of Node.js before a request is sent. A code is not enough: a read can fail with EHOSTUNREACH too. */
const CONNECTING_CALLS = new Set<unknown>(["getaddrinfo", "connect"]);

/** Codes of Node.js and Bun for a connection that was never opened. */
const NOT_CONNECTED_CODES = new Set<unknown>(["UND_ERR_CONNECT_TIMEOUT", "ConnectionRefused"]);

/** The kind of an error that fetch was rejected with. */
export const kindOfFetchError = (error: unknown): FailureKind =>
  wasNeverOpened(error) ? "not_connected" : "no_answer";

function wasNeverOpened(error: unknown): boolean {
  if (!(error instanceof Error)) return false;
  const { code, syscall, errors } = error as { code?: unknown; syscall?: unknown; errors?: unknown };
  // Node.js tries the addresses of a host in turn.
  if (Array.isArray(errors)) return errors.length > 0 && errors.every(wasNeverOpened);
  if (CONNECTING_CALLS.has(syscall) || NOT_CONNECTED_CODES.has(code)) return true;
  // Deno names the phase in the message only.
  return error.message.includes("client error (Connect)") || wasNeverOpened(error.cause);
}

const FIRST_DELAY_MS = 500;
const MAX_DELAY_MS = 8_000;

/** A longer Retry-After is left to the caller: the error has it. */
const MAX_RETRY_AFTER_MS = 60_000;

/** The delay before the next attempt, or undefined when there must be none. `attempt` is counted from 1. */
export function delayBeforeRetry(error: HeraldError, attempt: number): number | undefined {
  const { retryable, retryAfterMs } = error;
  if (!retryable || (retryAfterMs ?? 0) > MAX_RETRY_AFTER_MS) return undefined;
  return retryAfterMs ?? fullJitter(attempt);
}

/** A random delay below a limit that doubles with each attempt, so that many callers do not return at once. */
export const fullJitter = (attempt: number, maxMs = MAX_DELAY_MS): number =>
  Math.random() * Math.min(maxMs, FIRST_DELAY_MS * 2 ** (attempt - 1));
