import { createHmac } from "node:crypto";
import { setTimeout as sleep } from "node:timers/promises";
import { LRUCache } from "lru-cache";
import { jittered } from "../../runtime/async/timeouts-and-retries.ts";
import { PLATFORM_CALL_DEADLINE_MS } from "../../runtime/deadlines.ts";
import { SECOND } from "../../runtime/durations.ts";
import type { Log } from "../../runtime/log.ts";
import {
  asList,
  asObject,
  type EncodedBody,
  formBody,
  formEntries,
  numberOf,
  parseAnswer,
  textOf,
} from "../bodies.ts";
import { PlatformFailure } from "../errors/failure.ts";
import {
  type HttpRequest,
  type Outcome,
  type PausedCall,
  type PlatformCall,
  type StreamedResult,
  type Transport,
  type TransportResult,
  toFailure,
  toOutcome,
} from "./call.ts";
import {
  applyToQuota,
  findPause,
  type PauseStore,
  pauseKeysOf,
  pausesAfter,
  readUsage,
  type Usage,
} from "./pauses.ts";

export interface App {
  id: string;
  secret: string;
}

interface ClientOptions {
  /** The platform's name in the log. */
  name: string;
  /** Base URL including the API version. */
  address: string;
  app: App;
  transport: Transport;
  pauses: PauseStore;
  log: Log;
  recordCall?: RecordCall;
  /** True when the calls are of background jobs, which pause while the app's limit is used up. */
  isBackground?: boolean;
}

/** Counts finished calls by their outcome: one, or those of a batch. `ms`: how long they took, with their retries. */
export type RecordCall = (call: { platform: string; outcomes: readonly string[]; ms: number }) => void;

interface FileRequest extends Pick<PlatformCall, "about"> {
  url: URL;
  token: string;
}

export interface PlatformClient {
  app: App;
  /** True when the platform's base URL is https. */
  isSecure: boolean;
  /** Returns platform and network failures as outcomes; throws only for a malformed path. */
  call(call: PlatformCall): Promise<Outcome>;
  /** Builds the request of a call; throws only for a malformed path. */
  prepare(call: PlatformCall): PreparedCall;
  /** Returns the body or throws a PlatformFailure. */
  callOrThrow(call: PlatformCall): Promise<unknown>;
  /** Sends reads with the same token and quota in one request; returns their outcomes in order. */
  batch(calls: readonly [PlatformCall, ...PlatformCall[]]): Promise<Outcome[]>;
  /** Opens a file at a URL the platform returned. */
  open(file: FileRequest): Promise<StreamedResult>;
}

/** A call whose request is built, for a caller that has something to do between the steps. */
export interface PreparedCall {
  /** The pause that stops the call now; without one `run` may follow, which does not ask again. */
  findPause(): Promise<PausedCall | undefined>;
  run(): Promise<Outcome>;
}

interface CallResult {
  outcome: Outcome;
  usage: Usage;
  tries: number;
  /** True when the call is paused and must not be retried. */
  isPaused: boolean;
}

/** The app's access token. */
export const appToken = ({ id, secret }: App): string => `${id}|${secret}`;

/** HTTP client for one platform: signs tokens, enforces the deadline and the platform's pauses, logs each call. */
export function createPlatformClient(options: ClientOptions): PlatformClient {
  const { name, address, app, transport, pauses, log, recordCall = () => {}, isBackground = false } = options;
  const proofs = createAppProofs(app.secret);

  /** Built as text: parameters that are added to a URL object are serialised again each time. */
  function urlOf({ path, query = {}, token }: PlatformCall): URL {
    const parameters = new URLSearchParams(formEntries(query));
    const proof = proofOf(token);
    if (proof !== undefined) parameters.set("appsecret_proof", proof);
    return new URL(`${address}${path}${parameters.size > 0 ? `?${parameters}` : ""}`);
  }

  /** HMAC that proves the app may use the token. The app's own token needs none. */
  const proofOf = (token: string | undefined): string | undefined =>
    token === undefined || token === appToken(app) ? undefined : proofs(token);

  function requestOf(call: PlatformCall): Omit<HttpRequest, "deadline"> {
    const { method, body, uploadTimeoutMs, token, signal } = call;
    const headers = { accept: "application/json", ...authorisation(token), ...body?.headers };
    const url = urlOf(call);
    return { client: shareOf(call.about), method, url, headers, body: body?.body, uploadTimeoutMs, signal };
  }

  /** Classifies the answer to a call and stores the pauses that follow from it. */
  async function evaluate(call: PlatformCall, result: TransportResult): Promise<Omit<CallResult, "tries">> {
    const { token, owner = "none", secrets = [] } = call;
    const usage = readUsage(result.outcome === "answered" ? result.headers : {});
    const context = { owner, secrets: [token ?? "", proofOf(token) ?? "", app.secret, ...secrets] };
    const outcome = applyToQuota(call, toOutcome(result, context), usage);
    const newPauses = pausesAfter(call, outcome, usage);
    await Promise.all(newPauses.map(({ key, wait }) => pauses.pause(key, wait)));
    return { outcome, usage, isPaused: newPauses.some(({ key }) => pauseKeysOf(call).includes(key)) };
  }

  async function runWithRetries(
    call: PlatformCall,
    request: Omit<HttpRequest, "deadline">,
  ): Promise<CallResult> {
    const endsAt = Date.now() + (call.deadline ?? PLATFORM_CALL_DEADLINE_MS);
    for (let tries = 1; ; tries += 1) {
      const last = await evaluate(call, await transport.run({ ...request, deadline: endsAt - Date.now() }));
      const retryDelay = nextRetryDelay(call, last.outcome, { tries, remaining: endsAt - Date.now() });
      if (retryDelay === undefined || last.isPaused || call.signal?.aborted) return { ...last, tries };
      await sleep(retryDelay);
    }
  }

  function report(
    { about, method, path }: PlatformCall,
    { outcome, usage, tries }: Omit<CallResult, "isPaused">,
    startedAt: number,
  ): void {
    const ms = Date.now() - startedAt;
    recordCall({ platform: name, outcomes: [wordOf(outcome)], ms });
    const logFields = { ...toLogFields(outcome), tries, ...toUsageFields(usage), ms };
    log.info("platform.called", { ...about, platform: name, method, path, ...logFields });
  }

  function prepare(call: PlatformCall): PreparedCall {
    checkPath(call.path);
    const request = requestOf(call);
    return {
      async findPause() {
        const startedAt = Date.now();
        const found = await findPause(pauses, call, isBackground);
        if (found) report(call, { outcome: found, usage: { quotas: [] }, tries: 0 }, startedAt);
        return found;
      },
      async run() {
        const startedAt = Date.now();
        const result = await runWithRetries(call, request);
        report(call, result, startedAt);
        return result.outcome;
      },
    };
  }

  async function call(call: PlatformCall): Promise<Outcome> {
    const prepared = prepare(call);
    return (await prepared.findPause()) ?? prepared.run();
  }

  async function callBatch(calls: readonly [PlatformCall, ...PlatformCall[]]): Promise<Outcome[]> {
    const [first] = calls;
    const pause = await findPause(pauses, first, isBackground);
    if (pause) return calls.map(() => pause);
    const url = new URL("/", address);
    const proof = proofOf(first.token);
    if (proof !== undefined) url.searchParams.set("appsecret_proof", proof);
    const { headers, body } = batchBody(calls, new URL(address).pathname.slice(1));
    const result = await transport.run({
      client: shareOf(first.about),
      method: "POST",
      url,
      headers: { accept: "application/json", ...authorisation(first.token), ...headers },
      body,
      deadline: PLATFORM_CALL_DEADLINE_MS,
    });
    const parts = readBatchAnswer(result, calls.length);
    if (parts)
      return Promise.all(calls.map((call, index) => outcomeOf(call, parts[index] as TransportResult)));
    const outcome = await outcomeOf(first, result);
    return calls.map(() => outcome);
  }

  const outcomeOf = async (call: PlatformCall, result: TransportResult): Promise<Outcome> =>
    (await evaluate(call, result)).outcome;

  return {
    app,
    isSecure: address.startsWith("https:"),
    call,
    prepare,
    async callOrThrow(request) {
      const outcome = await call(request);
      if (outcome.outcome === "done") return outcome.body;
      throw toFailure(outcome, request);
    },
    async batch(calls) {
      for (const { path } of calls) checkPath(path);
      const startedAt = Date.now();
      const outcomes = await callBatch(calls);
      const ms = Date.now() - startedAt;
      recordCall({ platform: name, outcomes: outcomes.map(wordOf), ms });
      const counts = {
        calls: calls.length,
        done: outcomes.filter(({ outcome }) => outcome === "done").length,
      };
      const where = { platform: name, method: "POST", path: "/" };
      log.info("platform.called", { ...calls[0].about, ...where, ...counts, ms });
      return outcomes;
    },
    async open({ url, token, about }) {
      const startedAt = Date.now();
      // A compressed file would arrive without its length and cost decompression.
      const headers = { ...authorisation(token), "accept-encoding": "identity" };
      const request = { method: "GET", url, headers, deadline: PLATFORM_CALL_DEADLINE_MS } as const;
      const opened = await transport.open({ client: shareOf(about), ...request });
      const { outcome } = opened;
      const ms = Date.now() - startedAt;
      recordCall({ platform: name, outcomes: [outcome], ms });
      const logFields = { outcome, ...(outcome === "answered" ? { status: opened.status } : {}), tries: 1 };
      const where = { platform: name, method: "GET", path: url.pathname };
      log.info("platform.called", { ...about, ...where, ...logFields, ms });
      return opened;
    },
  };
}

/** Delays before the second and third attempt of a read. */
const RETRY_DELAYS_MS = [250, 1 * SECOND];

/** Milliseconds until the next attempt; undefined when there is none. Only reads are retried. */
export function nextRetryDelay(
  { effect }: PlatformCall,
  outcome: Outcome,
  { tries, remaining }: { tries: number; remaining: number },
): number | undefined {
  const delay = RETRY_DELAYS_MS[tries - 1];
  if (effect !== "read" || delay === undefined || !isTransient(outcome)) return undefined;
  const pause = jittered(delay);
  return pause < remaining ? pause : undefined;
}

const isTransient = (outcome: Outcome): boolean =>
  outcome.outcome === "broken" ||
  outcome.outcome === "unreadable" ||
  (outcome.outcome === "refused" && outcome.verdict === "transient");

const MAX_KEPT_PROOFS = 1_000;
const PROOF_TTL_MS = 10 * SECOND;

/** Returns the HMAC that proves the app may use a token, and keeps it for some seconds: each call needs it twice. */
function createAppProofs(secret: string): (token: string) => string {
  const proofs = new LRUCache<string, string>({
    max: MAX_KEPT_PROOFS,
    ttl: PROOF_TTL_MS,
    ttlAutopurge: true,
  });
  return (token) => {
    const known = proofs.get(token);
    if (known !== undefined) return known;
    const proof = createHmac("sha256", secret).update(token).digest("hex");
    proofs.set(token, proof);
    return proof;
  };
}

/** Allows `/node` and `/node/edge` only: an id with other characters could address a different resource. */
function checkPath(path: string): void {
  if (!/^\/\w+(\/\w+)?$/.test(path)) throw new PlatformFailure("missing", "There is no such object");
}

/** The batches of a client have a share of the sockets of their own: its other calls do not wait for theirs. */
const shareOf = (about: PlatformCall["about"]): string | undefined => {
  const client = textOf(about?.client);
  return client !== undefined && about?.batch_id !== undefined ? `${client} batches` : client;
};

const authorisation = (token: string | undefined): Record<string, string> =>
  token === undefined ? {} : { authorization: `Bearer ${token}` };

/** The word for an outcome in logs and metrics: a refusal has that of its verdict. */
const wordOf = (outcome: Outcome): string =>
  outcome.outcome === "refused" ? outcome.verdict : outcome.outcome;

function toLogFields(outcome: Outcome): Record<string, unknown> {
  if (outcome.outcome === "done") return { outcome: "done", status: outcome.status };
  if (outcome.outcome !== "refused") return { ...outcome };
  const { status, error, pauses } = outcome;
  const errorFields = { code: error?.code, subcode: error?.subcode, trace: error?.traceId };
  return { outcome: wordOf(outcome), status, ...errorFields, pauses };
}

const toUsageFields = ({ app, account, business }: Usage) => ({
  usage_app: app,
  usage_account: account,
  usage_business: business,
});

/** Calls that the platform accepts in one request. */
export const MAX_CALLS_PER_BATCH = 50;

/** The body of a request that contains these reads; `version` begins the platform's paths: `v26.0`. */
const batchBody = (calls: readonly PlatformCall[], version: string): EncodedBody =>
  formBody({
    batch: calls.map(({ method, path, query = {} }) => ({
      method,
      relative_url: `${version}${path}?${new URLSearchParams(formEntries(query))}`,
    })),
  });

/** The answer to each call, in order; undefined when the answer is not that of a batch. */
function readBatchAnswer(result: TransportResult, count: number): TransportResult[] | undefined {
  if (result.outcome !== "answered" || result.status !== 200) return undefined;
  const parts = parseAnswer(result.text);
  return Array.isArray(parts) && parts.length === count ? parts.map(toTransportResult) : undefined;
}

/** The platform leaves out a call that took too long. */
function toTransportResult(part: unknown): TransportResult {
  if (part === null) return { outcome: "timeout", sent: true, reason: "batch" };
  const { code, headers, body } = asObject(part);
  return {
    outcome: "answered",
    status: numberOf(code) ?? 0,
    headers: toHeaders(headers),
    text: textOf(body) ?? "",
  };
}

const toHeaders = (headers: unknown): Record<string, string | undefined> =>
  Object.fromEntries(
    asList(headers)
      .map(asObject)
      .map(({ name, value }) => [String(name).toLowerCase(), textOf(value)]),
  );
