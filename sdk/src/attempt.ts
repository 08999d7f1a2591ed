import { ConnectionError, errorOfAnswer, HeraldError } from "./errors.ts";
import type { ErrorBody } from "./generated/types.ts";
import { type FailureKind, kindOfAnswer, kindOfFetchError, RETRIES, type RetryClass } from "./retries.ts";
import { createTimer, type Timer } from "./timers.ts";

export interface Attempt {
  operation: string;
  url: string;
  init: { method: string; headers: Record<string, string>; body: BodyInit | null };
  retries: RetryClass;
  idempotencyKey: string | undefined;
  timeoutMs: number;
  signal: AbortSignal | undefined;
  fetch: (url: string, init: RequestInit) => Promise<Response>;
}

/** How an answer becomes a result. */
export interface Reader<T> {
  read: (response: Response, attempt: Attempt) => Promise<T>;
  /** The caller reads the body later, without a time limit. */
  isBodyLeft?: true;
  /** The body may be large. */
  isFile?: true;
}

/** The result or the error of an attempt, and its answer if one came. */
export type AttemptOutcome<T> =
  | { value: T; response: Response }
  | { error: HeraldError; response?: Response };

/** Makes one request. Throws only the reason of the caller's signal. */
export async function attemptOnce<T>(attempt: Attempt, reader: Reader<T>): Promise<AttemptOutcome<T>> {
  const { url, init, signal, timeoutMs, fetch } = attempt;
  signal?.throwIfAborted();
  const timer = createTimer(timeoutMs, signal);
  let response: Response | undefined;
  let isBodyLeft = false;
  try {
    // A redirect would carry the API key to another address.
    response = await fetch(url, { ...init, signal: timer.signal, redirect: "manual" });
    if (!response.ok) return { error: await errorOf(attempt, response), response };
    if (reader.isBodyLeft) {
      response = leaveBody(response, timer);
      isBodyLeft = true;
    }
    return { value: await reader.read(response, attempt), response };
  } catch (cause) {
    signal?.throwIfAborted();
    const answer = response ? { response } : {};
    if (cause instanceof HeraldError) return { error: cause, ...answer };
    return {
      error: connectionError(attempt, { cause, isTimeout: timer.signal.aborted, ...answer }),
      ...answer,
    };
  } finally {
    if (!isBodyLeft) timer.stop();
  }
}

/** The answer without time limit. The caller's signal, which may live for ever, is disconnected when the body ends. */
function leaveBody(response: Response, timer: Timer): Response {
  timer.clear();
  if (response.body) return new Response(watchEnd(response.body, timer.stop), response);
  timer.stop();
  return response;
}

/** The same body; `onEnd` is called when it was read, cancelled or broken. A body that is never read stays unlocked. */
function watchEnd(body: ReadableStream<Uint8Array>, onEnd: () => void): ReadableStream<Uint8Array> {
  let reader: ReadableStreamDefaultReader<Uint8Array> | undefined;
  return new ReadableStream<Uint8Array>(
    {
      async pull(controller) {
        reader ??= body.getReader();
        try {
          const { done, value } = await reader.read();
          if (!done) return controller.enqueue(value);
          onEnd();
          controller.close();
        } catch (error) {
          onEnd();
          throw error;
        }
      },
      cancel(reason) {
        onEnd();
        return (reader ?? body).cancel(reason);
      },
    },
    { highWaterMark: 0 },
  );
}

/** The error of an answer that is not a success. */
async function errorOf(attempt: Attempt, response: Response): Promise<HeraldError> {
  const { status, headers } = response;
  const body = readErrorBody(await response.text());
  const kind = kindOfAnswer(status, body?.error);
  return errorOfAnswer({
    ...fieldsOf(attempt, kind),
    code: body?.error ?? "unexpected_response",
    message: body?.message ?? `${attempt.operation}: the answer ${status} is not from Herald: check baseUrl`,
    status,
    requestId: body?.request_id ?? headers.get("x-request-id") ?? undefined,
    retryAfterMs: readRetryAfter(headers.get("retry-after")),
    body,
  });
}

const fieldsOf = ({ operation, retries, idempotencyKey }: Attempt, kind: FailureKind) => ({
  operation,
  idempotencyKey,
  retryable: RETRIES[kind].includes(retries),
});

interface ConnectionFailure {
  cause: unknown;
  isTimeout: boolean;
  response?: Response;
}

function connectionError(attempt: Attempt, { cause, isTimeout, response }: ConnectionFailure): HeraldError {
  const kind = response || isTimeout ? "no_answer" : kindOfFetchError(cause);
  const { operation, timeoutMs } = attempt;
  return new ConnectionError({
    ...fieldsOf(attempt, kind),
    code: isTimeout ? "timeout" : "connection_failed",
    message: isTimeout
      ? `${operation}: no complete answer within ${timeoutMs} ms`
      : `${operation}: the connection failed${codeIn(cause)}`,
    requestId: response?.headers.get("x-request-id") ?? undefined,
    cause,
  });
}

/** The code of the innermost error that has one, in brackets. */
function codeIn(error: unknown): string {
  const { code, cause } = (error ?? {}) as { code?: unknown; cause?: unknown };
  return (cause === undefined ? "" : codeIn(cause)) || (typeof code === "string" ? ` (${code})` : "");
}

/** The error body of Herald; undefined for any other body, such as that of a proxy. */
function readErrorBody(text: string): ErrorBody | undefined {
  try {
    const body: unknown = JSON.parse(text);
    return isErrorBody(body) ? body : undefined;
  } catch {
    return undefined;
  }
}

const isErrorBody = (body: unknown): body is ErrorBody =>
  typeof body === "object" &&
  body !== null &&
  typeof (body as ErrorBody).error === "string" &&
  typeof (body as ErrorBody).request_id === "string";

/** The milliseconds of a Retry-After header, in seconds or as a date. */
function readRetryAfter(value: string | null): number | undefined {
  if (value === null) return undefined;
  const ms = /^\d+$/.test(value) ? Number(value) * 1_000 : Date.parse(value) - Date.now();
  return Number.isFinite(ms) ? Math.max(0, ms) : undefined;
}

/** Reads the JSON of a success. */
export async function readJson<T>(response: Response, attempt: Attempt): Promise<T> {
  const text = await response.text();
  try {
    return JSON.parse(text);
  } catch {
    // The error of the parser is no cause: it quotes the answer, which may contain a new key.
    throw unexpectedAnswer(response, attempt, "JSON");
  }
}

/** Checks that a success has no body. */
export async function readNothing(response: Response, attempt: Attempt): Promise<void> {
  if ((await response.text()) !== "") throw unexpectedAnswer(response, attempt, "empty");
}

const unexpectedAnswer = ({ status, headers }: Response, attempt: Attempt, expected: string): HeraldError =>
  new HeraldError({
    ...fieldsOf(attempt, "final"),
    code: "unexpected_response",
    message: `${attempt.operation}: the answer is not ${expected}: check baseUrl`,
    status,
    requestId: headers.get("x-request-id") ?? undefined,
  });
