import type { ErrorBody } from "../../../sdk/src/generated/types.ts";
import { texts } from "../texts.ts";
import { parseJson, toJson } from "./json.ts";

/** Why a request failed, in the words of the server where it has answered. */
export class Problem extends Error {
  /** 0 when no answer came. */
  readonly status: number;
  readonly requestId: string | undefined;
  readonly details: readonly { path: string; message: string }[];

  constructor(message: string, { status = 0, requestId, details }: ProblemParts = {}) {
    super(message);
    this.status = status;
    this.requestId = requestId;
    this.details = details ?? [];
  }
}

interface ProblemParts {
  status?: number;
  requestId?: string | undefined;
  details?: readonly { path: string; message: string }[] | undefined;
}

export interface CallOptions {
  query?: Record<string, string | number | undefined> | undefined;
  body?: unknown;
  headers?: Record<string, string>;
  signal?: AbortSignal | undefined;
}

type Method = "GET" | "POST" | "PATCH" | "DELETE";

/** The cookie is a credential only together with this header, which other sites cannot send. */
const CONSOLE_HEADER = { "x-herald-console": "1" };

let onSignedOut = () => {};

/** Sets what happens when the server no longer accepts the session. */
export function whenSignedOut(handle: () => void): void {
  onSignedOut = handle;
}

/** Calls the API and returns its JSON. Throws a Problem, or an AbortError when the signal aborts. */
export async function call<T>(method: Method, path: string, options: CallOptions = {}): Promise<T> {
  const response = await send(method, path, options);
  if (response.status === 204) return undefined as T;
  const text = await response.text();
  try {
    return parseJson(text) as T;
  } catch {
    throw new Problem(texts.noJson, { status: response.status });
  }
}

/** Calls the API and returns the response, whose body may be a stream. Throws like `call`. */
export async function send(method: Method, path: string, options: CallOptions = {}): Promise<Response> {
  const { query = {}, body, headers = {}, signal = null } = options;
  const response = await fetch(withQuery(path, query), {
    method,
    headers: { ...CONSOLE_HEADER, accept: "application/json", ...headers, ...(body ? JSON_BODY : {}) },
    credentials: "same-origin",
    cache: "no-store",
    signal,
    ...(body === undefined ? {} : { body: toJson(body) }),
  }).catch((error: unknown) => {
    if (signal?.aborted) throw error;
    throw new Problem(texts.noAnswer);
  });
  if (response.ok) return response;
  const problem = await readProblem(response);
  if (problem.status === 401 && path !== LOGIN_PATH) onSignedOut();
  throw problem;
}

/** A new Idempotency-Key. randomUUID does not exist on plain http. */
export const newKey = (): string =>
  Array.from(crypto.getRandomValues(new Uint8Array(16)), (byte) => byte.toString(16).padStart(2, "0")).join(
    "",
  );

export const LOGIN_PATH = "/api/auth/login";

const JSON_BODY = { "content-type": "application/json" };

function withQuery(path: string, query: NonNullable<CallOptions["query"]>): string {
  const given = Object.entries(query).filter(([, value]) => value !== undefined && value !== "");
  const search = new URLSearchParams(given.map(([name, value]) => [name, String(value)])).toString();
  return search === "" ? path : `${path}?${search}`;
}

async function readProblem(response: Response): Promise<Problem> {
  const { status } = response;
  const requestId = response.headers.get("x-request-id") ?? undefined;
  const body = (await response.json().catch(() => undefined)) as ErrorBody | undefined;
  const message = body?.message ?? texts.unexpectedStatus(status);
  return new Problem(message, { status, requestId, details: body?.details });
}

/** Turns anything that was thrown into a Problem that can be shown. */
export const toProblem = (thrown: unknown): Problem =>
  thrown instanceof Problem ? thrown : new Problem(thrown instanceof Error ? thrown.message : String(thrown));
