import { type Attempt, attemptOnce, type Reader, readJson, readNothing } from "./attempt.ts";
import type { HeraldError } from "./errors.ts";
import { type Cursor, List, type ListPage } from "./list.ts";
import type {
  AttemptInfo,
  AttemptResult,
  FileContent,
  FileOptions,
  HeraldOptions,
  KeyedOptions,
} from "./options.ts";
import { delayBeforeRetry, type RetryClass } from "./retries.ts";
import { sleep } from "./timers.ts";

/** A request as the generated operations describe it. */
export interface ApiRequest {
  operation: string;
  method: string;
  path: string;
  retries: RetryClass;
  query?: object | undefined;
  body?: object | undefined;
  file?: FileContent;
  options?: (KeyedOptions & FileOptions) | undefined;
}

/** Sends requests with the credential, and repeats them as far as their retry class allows. */
export interface Client {
  /** Returns the JSON of the answer. */
  json<T>(request: ApiRequest): Promise<T>;
  /** Makes a request whose answer has no body. */
  empty(request: ApiRequest): Promise<void>;
  /** Makes a request whose answer is JSON that says nothing more than its status. */
  check(request: ApiRequest): Promise<void>;
  text(mediaType: string, request: ApiRequest): Promise<string>;
  /** Returns the answer once its headers are there; the caller reads the body. */
  open(headers: Readonly<Record<string, string>>, request: ApiRequest): Promise<Response>;
  list<Item, Page extends ListPage<Item>>(cursorIn: "query" | "body", request: ApiRequest): List<Item, Page>;
}

const DEFAULT_TIMEOUT_MS = 60_000;
/** For uploads and CSV, which may be large. */
const FILE_TIMEOUT_MS = 600_000;
const DEFAULT_MAX_RETRIES = 3;

export function createClient(settings: HeraldOptions): Client {
  const base = readBaseUrl(settings.baseUrl);
  const credential = credentialHeaders(settings);

  /** Makes the request until it succeeds or may not be repeated. */
  async function send<T>(
    request: ApiRequest,
    reader: Reader<T>,
    extraHeaders: Readonly<Record<string, string>> = {},
  ): Promise<T> {
    const { options = {}, retries, operation, method, path } = request;
    const idempotencyKey = retries === "keyed" ? readKey(options.idempotencyKey) : undefined;
    const { body, headers } = contentOf(request);
    const usualTimeoutMs = request.file || reader.isFile ? FILE_TIMEOUT_MS : DEFAULT_TIMEOUT_MS;
    const keyHeader = idempotencyKey === undefined ? undefined : { "idempotency-key": idempotencyKey };
    const attempt: Attempt = {
      operation,
      url: `${base}${path}${searchOf(request.query)}`,
      init: {
        method,
        headers: { accept: "application/json", ...credential, ...headers, ...keyHeader, ...extraHeaders },
        body,
      },
      retries,
      idempotencyKey,
      timeoutMs: options.timeoutMs ?? settings.timeoutMs ?? usualTimeoutMs,
      signal: options.signal,
      fetch: settings.fetch ?? ((url, init) => globalThis.fetch(url, init)),
    };
    const maxRetries = options.maxRetries ?? settings.maxRetries ?? DEFAULT_MAX_RETRIES;
    for (let number = 1; ; number++) {
      const info = {
        operation,
        method,
        path,
        attempt: number,
        ...(idempotencyKey === undefined ? {} : { idempotencyKey }),
      };
      settings.onRequest?.(info);
      const startedAt = Date.now();
      const outcome = await attemptOnce(attempt, reader);
      settings.onResponse?.(resultOf(info, Date.now() - startedAt, outcome));
      if ("value" in outcome) return outcome.value;
      const delayMs = number <= maxRetries ? delayBeforeRetry(outcome.error, number) : undefined;
      if (delayMs === undefined) throw outcome.error;
      await sleep(delayMs, options.signal);
    }
  }

  const readAsJson = <T>(request: ApiRequest): Promise<T> => send<T>(request, { read: readJson });

  return {
    json: readAsJson,
    empty: (request) => send(request, { read: readNothing }),
    check: async (request) => void (await readAsJson(request)),
    text: (accept, request) =>
      send(request, { read: (response) => response.text(), isFile: true }, { accept }),
    open: (headers, request) =>
      send(request, { read: async (response) => response, isBodyLeft: true }, headers),
    list: (cursorIn, request) => {
      const given = request[cursorIn];
      const isBackwards = given !== undefined && "before" in given && given.before !== undefined;
      return new List(
        (cursor) => readAsJson({ ...request, [cursorIn]: withCursor(given, cursor) }),
        isBackwards,
      );
    },
  };
}

function resultOf(
  info: AttemptInfo,
  durationMs: number,
  { response, ...outcome }: { response?: Response; error?: HeraldError },
): AttemptResult {
  const requestId = response?.headers.get("x-request-id");
  return {
    ...info,
    durationMs,
    ...(response ? { status: response.status } : {}),
    ...(requestId ? { requestId } : {}),
    ...(outcome.error ? { error: outcome.error } : {}),
  };
}

/** The address without the slash at its end. An address with a password is refused, because errors would show it. */
function readBaseUrl(text: string): string {
  const url = URL.canParse(text) ? new URL(text) : undefined;
  if (!url || !/^https?:$/.test(url.protocol) || url.username || url.password || url.search || url.hash)
    throw new TypeError("baseUrl must be an http or https address without user name, query and fragment");
  return `${url.origin}${url.pathname}`.replace(/\/$/, "");
}

const VISIBLE_ASCII = /^[\x21-\x7e]+$/;

/** The header of the credential. Its value is checked here, because the error of fetch would show it. */
function credentialHeaders({ apiKey, userToken }: HeraldOptions): Record<string, string> {
  if (apiKey !== undefined && userToken !== undefined)
    throw new TypeError("give either apiKey or userToken, not both");
  const [name, value] = apiKey === undefined ? ["userToken", userToken] : ["apiKey", apiKey];
  if (value === undefined) return {};
  if (!VISIBLE_ASCII.test(value)) throw new TypeError(`${name} must consist of visible ASCII characters`);
  return apiKey === undefined ? { authorization: `Bearer ${value}` } : { "x-svc-api-key": value };
}

function readKey(given: string | undefined): string {
  if (given === undefined) return crypto.randomUUID();
  if (given.length > 255 || !VISIBLE_ASCII.test(given))
    throw new TypeError("idempotencyKey must have 1 to 255 visible ASCII characters");
  return given;
}

/** The body of the request and the headers that describe it. */
function contentOf({ body, file, options, retries }: ApiRequest): {
  body: BodyInit | null;
  headers: Record<string, string>;
} {
  // Deno's fetch repeats a text or bytes by itself when a reused connection breaks, but not a Blob.
  const toBody = (content: BlobPart) => (retries === "single" ? new Blob([content]) : content);
  if (file !== undefined) {
    const type = options?.contentType ?? (file instanceof Blob ? file.type : "");
    if (type === "") throw new TypeError("the file has no media type: give contentType");
    return { body: toBody(file as BlobPart), headers: { "content-type": type } };
  }
  if (body === undefined) return { body: null, headers: {} };
  return { body: toBody(JSON.stringify(body)), headers: { "content-type": "application/json" } };
}

/** The query string. A list becomes a text with commas; undefined and null are left out. */
function searchOf(query: object = {}): string {
  const entries = Object.entries(query).filter(([, value]) => value !== undefined && value !== null);
  const search = new URLSearchParams(entries.map(([name, value]) => [name, String(value)])).toString();
  return search === "" ? "" : `?${search}`;
}

/** The query or body of the next page. A list accepts only one of the two cursors. */
function withCursor(given: object | undefined, cursor: Cursor | undefined): object | undefined {
  if (!cursor) return given;
  const { after: _after, before: _before, ...rest } = { after: undefined, before: undefined, ...given };
  return { ...rest, ...cursor };
}

/** The operations of one part of the API. */
export class Resource {
  protected readonly client: Client;

  constructor(client: Client) {
    this.client = client;
  }
}

/** Builds a path whose values are encoded. A value that would name another path is refused. */
export function path(texts: TemplateStringsArray, ...values: string[]): string {
  for (const value of values)
    if (typeof value !== "string" || value === "" || value === "." || value === "..")
      throw new TypeError(`an id must be a text that is not empty, not ${JSON.stringify(value)}`);
  return texts.map((text, index) => `${text}${encodeURIComponent(values[index] ?? "")}`).join("");
}
