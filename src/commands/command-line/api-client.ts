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
  const response = await requestApi(access, path, request).catch((error: unknown) => {
    throw new CommandError(`${access.url} does not answer: ${faultText(error)}`);
  });
  if (!response.ok) throw await refusalOf(access, response);
  return tryParseJson(await response.text());
}

/** What to do about a refusal, by its code. */
const ADVICE: Readonly<Record<string, string>> = {
  unauthorized: "Check HERALD_API_KEY, and that the key belongs to the service at HERALD_URL",
  insufficient_scope: "Use a key with the scope that the message names",
  test_key_required:
    "Test events need a svc_test_ key: set HERALD_API_KEY to a key of a service that is not in production, such as the demo client's of npm start",
};

/** The error for an answer of the API that is no success: its code, its message and what to do. */
export async function refusalOf({ url }: ApiAccess, response: Response): Promise<CommandError> {
  const { status, headers } = response;
  if (status >= 300 && status < 400)
    return new CommandError(
      `${url} redirects to ${originOf(headers.get("location"), url)}: set HERALD_URL to the address of the service itself`,
    );
  const { error, message } = (tryParseJson(await response.text().catch(() => "")) ?? {}) as ErrorBody;
  if (typeof error !== "string")
    return new CommandError(`${url} answers ${status}, not as Herald does: check HERALD_URL`);
  const advice = ADVICE[error];
  return new CommandError(
    `the API answers ${status} ${error}: ${message ?? ""}${advice === undefined ? "" : `\n${advice}`}`,
  );
}

interface ErrorBody {
  error?: unknown;
  message?: unknown;
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
