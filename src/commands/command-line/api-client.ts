import { pause } from "../../runtime/async/timeouts-and-retries.ts";
import { SECOND } from "../../runtime/durations.ts";
import { stringifyJson, tryParseJson } from "../../runtime/json/json.ts";
import { type ApiAccess, CommandError } from "./command.ts";

/** Redirects are not followed: the key would be sent to whatever address the answer names. */
const NO_REDIRECT = { redirect: "manual" } as const;

interface ApiRequest {
  method?: "GET" | "POST";
  /** Sent as JSON. */
  body?: object;
  headers?: Record<string, string>;
  signal?: AbortSignal;
}

/** Calls the API with the key and returns the answer, whatever its status. */
export function requestApi(
  { url, key }: ApiAccess,
  path: string,
  { method = "GET", body, headers, signal }: ApiRequest = {},
): Promise<Response> {
  return fetch(url + path, {
    ...NO_REDIRECT,
    method,
    headers: { "x-svc-api-key": key, "content-type": "application/json", ...headers },
    ...(body === undefined ? {} : { body: stringifyJson(body) }),
    ...(signal === undefined ? {} : { signal }),
  });
}

/** Calls the API and returns the body of its answer; throws a CommandError for any other answer than 2xx. */
export async function callApi(access: ApiAccess, path: string, request?: ApiRequest): Promise<unknown> {
  const response = await requestAnswer(access, path, request);
  if (!response.ok) throw await refusalOf(access, response);
  return tryParseJson(await response.text());
}

interface Answer {
  body: unknown;
  headers: Headers;
}

/**
 * Calls the API until it no longer asks to repeat the request later. A POST must have an Idempotency-Key. `onWait` gets the
 * reason and the time of each wait.
 */
export async function callUntilAnswered(
  access: ApiAccess,
  path: string,
  { onWait, ...request }: ApiRequest & { onWait(line: string): void },
): Promise<Answer> {
  for (;;) {
    const response = await requestAnswer(access, path, request);
    const { ok, headers } = response;
    if (ok) return { body: tryParseJson(await response.text()), headers };
    const refusal = await refusalOf(access, response);
    const waitMs = waitBeforeRepeat(response);
    if (waitMs === undefined) throw refusal;
    onWait(`${refusal.message}; the next attempt is in ${waitMs / SECOND} s`);
    await pause(waitMs);
  }
}

/** An earlier request with the same key is in progress, a limit is reached, or the service is not available. */
const TEMPORARY_STATUSES: readonly number[] = [409, 429, 503];

function waitBeforeRepeat({ status, headers }: Response): number | undefined {
  const [seconds] = /^\d{1,5}$/.exec(headers.get("retry-after") ?? "") ?? [];
  if (seconds === undefined || !TEMPORARY_STATUSES.includes(status)) return undefined;
  return Number(seconds) * SECOND;
}

const requestAnswer = (access: ApiAccess, path: string, request?: ApiRequest): Promise<Response> =>
  requestApi(access, path, request).catch((error: unknown) => {
    throw new CommandError(`${access.url} does not answer: ${faultText(error)}`);
  });

/** What to do about a refusal, by its code. */
const ADVICE: Readonly<Record<string, string>> = {
  unauthorized: "Check HERALD_API_KEY, and that the key belongs to the service at HERALD_URL",
  insufficient_scope: "Use a key with the scope that the message names",
  test_key_required:
    "Test events need a svc_test_ key: set HERALD_API_KEY to a key of a service that is not in production, such as the demo client's of npm start",
};

/** An error that the API answers, with the fields that it names. */
export class ApiRefusal extends CommandError {
  readonly code: string;
  readonly details: readonly { path: string; message: string }[];

  constructor(message: string, { code, details }: Pick<ApiRefusal, "code" | "details">) {
    super(message);
    this.code = code;
    this.details = details;
  }
}

/** The error for an answer of the API that is no success: its code, its message and what to do. */
export async function refusalOf({ url }: ApiAccess, response: Response): Promise<CommandError> {
  const { status, headers } = response;
  if (status >= 300 && status < 400)
    return new CommandError(
      `${url} redirects to ${originOf(headers.get("location"), url)}: set HERALD_URL to the address of the service itself`,
    );
  const { error, message, details } = (tryParseJson(await response.text().catch(() => "")) ??
    {}) as ErrorBody;
  if (typeof error !== "string")
    return new CommandError(`${url} answers ${status}, not as Herald does: check HERALD_URL`);
  const advice = ADVICE[error];
  return new ApiRefusal(
    `the API answers ${status} ${error}: ${message ?? ""}${advice === undefined ? "" : `\n${advice}`}`,
    { code: error, details: Array.isArray(details) ? details : [] },
  );
}

interface ErrorBody {
  error?: unknown;
  message?: unknown;
  details?: unknown;
}

/** Only the origin: a path or query may contain a secret. */
function originOf(location: string | null, base: string): string {
  return location !== null && URL.canParse(location, base)
    ? new URL(location, base).origin
    : "another address";
}

/** A short text of a fault of the network. `fetch` hides the reason in the cause. */
export function faultText(error: unknown): string {
  const { code, message, cause } = error as { code?: unknown; message?: unknown; cause?: unknown };
  if (typeof code === "string") return FAULT_TEXTS[code] ?? code;
  return cause === undefined ? String(message ?? error) : faultText(cause);
}

const FAULT_TEXTS: Readonly<Record<string, string>> = {
  ECONNREFUSED: "connection refused",
  ECONNRESET: "connection closed without an answer",
  ENOTFOUND: "host not found",
  EAI_AGAIN: "host not found",
  UND_ERR_SOCKET: "connection closed",
};
