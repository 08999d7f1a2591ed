import { createHmac } from "node:crypto";
import { setTimeout as sleep } from "node:timers/promises";
import { LRUCache } from "lru-cache";
import { PLATFORM_CALL_DEADLINE_MS } from "../../runtime/deadlines.ts";
import { SECOND } from "../../runtime/durations.ts";
import { jittered } from "../../runtime/jitter.ts";
import type { Log } from "../../runtime/logging/log.ts";
import { PlatformFailure, toFailure } from "../errors/failure.ts";
import type { HoldWidth } from "../errors/verdicts.ts";
import { batchBody, readBatchAnswer } from "./batch.ts";
import { formEntries } from "./body.ts";
import type {
  Exchange,
  Exchanges,
  HeldBack,
  OpenExchange,
  Outcome,
  PlatformCall,
  Quota,
  Refusal,
} from "./call.ts";
import { textOf } from "./json-values.ts";
import { readAnswer } from "./read-answer.ts";
import { readUsage, type Usage } from "./usage.ts";

export interface App {
  id: string;
  secret: string;
}

/** Stores until when calls are on hold, shared by all processes. A failing store never blocks a call. */
export interface HoldStore {
  /** Milliseconds until none of these keys is on hold; 0 when none is. */
  remaining(keys: readonly string[]): Promise<number>;
  hold(key: string, milliseconds: number): Promise<void>;
}

interface ClientOptions {
  /** The platform's name in the log. */
  name: string;
  /** Base URL including the API version. */
  address: string;
  app: App;
  exchanges: Exchanges;
  holds: HoldStore;
  log: Log;
  /** True when the calls are of background jobs, which pause while the app's limit is used up. */
  isBackground?: boolean;
}

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
  /** Returns the body or throws a PlatformFailure. */
  callOrThrow(call: PlatformCall): Promise<unknown>;
  /** Sends reads with the same token and quota in one request; returns their outcomes in order. */
  batch(calls: readonly [PlatformCall, ...PlatformCall[]]): Promise<Outcome[]>;
  /** Opens a file at a URL the platform returned. */
  open(file: FileRequest): Promise<OpenExchange>;
}

interface Attempt {
  outcome: Outcome;
  usage: Usage;
  tries: number;
  /** True when the call is on hold and must not be retried. */
  held: boolean;
}

/** The app's access token. */
export const appToken = ({ id, secret }: App): string => `${id}|${secret}`;

/** HTTP client for one platform: signs tokens, enforces the deadline and the platform's holds, logs each call. */
export function createPlatformClient(options: ClientOptions): PlatformClient {
  const { name, address, app, exchanges, holds, log, isBackground = false } = options;
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

  async function attempt(call: PlatformCall, deadline: number): Promise<Omit<Attempt, "tries">> {
    const { method, body, uploadTimeoutMs, token, signal } = call;
    const headers = { accept: "application/json", ...authorisation(token), ...body?.headers };
    const exchange = await exchanges.run({
      client: clientOf(call.about),
      method,
      url: urlOf(call),
      headers,
      body: body?.body,
      deadline,
      uploadTimeoutMs,
      signal,
    });
    return evaluate(call, exchange);
  }

  /** Classifies the answer to a call and stores the holds that follow from it. */
  async function evaluate(call: PlatformCall, exchange: Exchange): Promise<Omit<Attempt, "tries">> {
    const { token, owner = "none", secrets = [] } = call;
    const usage = readUsage(exchange.outcome === "answered" ? exchange.headers : {});
    const context = { owner, secrets: [token ?? "", proofOf(token) ?? "", app.secret, ...secrets] };
    const outcome = applyToQuota(call, toOutcome(exchange, context), usage);
    const newHolds = holdsAfter(call, outcome, usage);
    await Promise.all(newHolds.map(({ key, wait }) => holds.hold(key, wait)));
    return { outcome, usage, held: newHolds.some(({ key }) => holdKeysOf(call).includes(key)) };
  }

  async function attemptWithRetries(call: PlatformCall): Promise<Attempt> {
    const hold = await findHold(holds, call, isBackground);
    if (hold) return { outcome: hold, usage: { quotas: [] }, tries: 0, held: true };
    const endsAt = Date.now() + (call.deadline ?? PLATFORM_CALL_DEADLINE_MS);
    for (let tries = 1; ; tries += 1) {
      const last = await attempt(call, endsAt - Date.now());
      const retryDelay = nextRetryDelay(call, last.outcome, { tries, remaining: endsAt - Date.now() });
      if (retryDelay === undefined || last.held || call.signal?.aborted) return { ...last, tries };
      await sleep(retryDelay);
    }
  }

  async function call(call: PlatformCall): Promise<Outcome> {
    checkPath(call.path);
    const startedAt = Date.now();
    const { outcome, usage, tries } = await attemptWithRetries(call);
    const { about, method, path } = call;
    const logFields = { ...toLogFields(outcome), tries, ...toUsageFields(usage), ms: Date.now() - startedAt };
    log.info("platform.called", { ...about, platform: name, method, path, ...logFields });
    return outcome;
  }

  async function attemptBatch(calls: readonly [PlatformCall, ...PlatformCall[]]): Promise<Outcome[]> {
    const [first] = calls;
    const hold = await findHold(holds, first, isBackground);
    if (hold) return calls.map(() => hold);
    const url = new URL("/", address);
    const proof = proofOf(first.token);
    if (proof !== undefined) url.searchParams.set("appsecret_proof", proof);
    const { headers, body } = batchBody(calls, new URL(address).pathname.slice(1));
    const exchange = await exchanges.run({
      client: clientOf(first.about),
      method: "POST",
      url,
      headers: { accept: "application/json", ...authorisation(first.token), ...headers },
      body,
      deadline: PLATFORM_CALL_DEADLINE_MS,
    });
    const parts = readBatchAnswer(exchange, calls.length);
    if (parts) return Promise.all(calls.map((call, index) => outcomeOf(call, parts[index] as Exchange)));
    const outcome = await outcomeOf(first, exchange);
    return calls.map(() => outcome);
  }

  const outcomeOf = async (call: PlatformCall, exchange: Exchange): Promise<Outcome> =>
    (await evaluate(call, exchange)).outcome;

  return {
    app,
    isSecure: address.startsWith("https:"),
    call,
    async callOrThrow(request) {
      const outcome = await call(request);
      if (outcome.outcome === "done") return outcome.body;
      throw toFailure(outcome, request);
    },
    async batch(calls) {
      for (const { path } of calls) checkPath(path);
      const startedAt = Date.now();
      const outcomes = await attemptBatch(calls);
      const counts = {
        calls: calls.length,
        done: outcomes.filter(({ outcome }) => outcome === "done").length,
      };
      const where = { platform: name, method: "POST", path: "/" };
      log.info("platform.called", { ...calls[0].about, ...where, ...counts, ms: Date.now() - startedAt });
      return outcomes;
    },
    async open({ url, token, about }) {
      const startedAt = Date.now();
      // A compressed file would arrive without its length and cost decompression.
      const headers = { ...authorisation(token), "accept-encoding": "identity" };
      const request = { method: "GET", url, headers, deadline: PLATFORM_CALL_DEADLINE_MS } as const;
      const opened = await exchanges.open({ client: clientOf(about), ...request });
      const { outcome } = opened;
      const logFields = { outcome, ...(outcome === "answered" ? { status: opened.status } : {}), tries: 1 };
      const where = { platform: name, method: "GET", path: url.pathname };
      log.info("platform.called", { ...about, ...where, ...logFields, ms: Date.now() - startedAt });
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

/** Only background jobs check this key: a client's call is tried even when another client has used up the app's limit. */
const APP_KEY = "app";
const assetKey = (asset: string, useCase?: string) =>
  useCase === undefined ? `asset:${asset}` : `asset:${asset}:${useCase}`;
const objectKey = (path: string) => `object:${path}`;

/**
 * Keys of the asset that can hold a call; none for a call without an asset, whose path all clients share. A hold on an
 * object blocks writes only, so reads do not check it.
 */
function holdKeysOf({ quota, path, effect }: PlatformCall): string[] {
  if (!quota) return [];
  return [
    assetKey(quota.asset),
    ...(quota.useCase === undefined ? [] : [assetKey(quota.asset, quota.useCase)]),
    ...(effect === "read" ? [] : [objectKey(path)]),
  ];
}

/** The hold that stops a call now; undefined when there is none. */
async function findHold(
  store: HoldStore,
  call: PlatformCall,
  isBackground: boolean,
): Promise<HeldBack | undefined> {
  const appWait = isBackground ? await store.remaining([APP_KEY]) : 0;
  if (appWait > 0) return { outcome: "held", wait: appWait, holds: "app" };
  const wait = await store.remaining(holdKeysOf(call));
  return wait > 0 ? { outcome: "held", wait } : undefined;
}

/** The key a throttle of this width holds; undefined when the call has no quota to hold. */
function holdKeyFor(width: HoldWidth, { quota, path }: PlatformCall): string | undefined {
  switch (width) {
    case "app":
      return APP_KEY;
    case "object":
      return quota && objectKey(path);
    case "asset":
      return quota && assetKey(quota.asset);
    case "use_case":
      return quota && assetKey(quota.asset, quota.useCase);
  }
}

interface Hold {
  key: string;
  wait: number;
}

/** Holds that a response causes: quotas its headers report as used up, and the throttle it was refused for. */
function holdsAfter(call: PlatformCall, outcome: Outcome, usage: Usage): Hold[] {
  const holds = usage.quotas.flatMap(({ asset = call.quota?.asset, useCase, retryAfterMs }) =>
    retryAfterMs > 0 && asset !== undefined ? [{ key: assetKey(asset, useCase), wait: retryAfterMs }] : [],
  );
  if (outcome.outcome !== "refused" || outcome.holds === undefined) return holds;
  const key = holdKeyFor(outcome.holds, call);
  return key === undefined ? holds : [...holds, { key, wait: outcome.wait }];
}

/**
 * Applies a throttle to the call's own quota: the wait the headers report for it replaces that of the verdict table.
 * Nothing is held for a call without a quota, and for one without a use case only when a wait is reported.
 */
function applyToQuota({ quota }: PlatformCall, outcome: Outcome, { quotas }: Usage): Outcome {
  if (outcome.outcome !== "refused" || outcome.holds === undefined) return outcome;
  const width = outcome.holds;
  if (width === "app") return outcome;
  if (!quota) return withoutHold(outcome);
  if (width === "object") return outcome;
  const wait = reportedWait(quotas, width === "asset" ? { asset: quota.asset } : quota);
  if (wait > 0) return { ...outcome, wait };
  return width === "use_case" && quota.useCase === undefined ? withoutHold(outcome) : outcome;
}

const withoutHold = ({ holds: _, ...refusal }: Refusal): Refusal => refusal;

/** The longest wait that the headers report for the quota; they may also report other quotas. */
function reportedWait(quotas: Usage["quotas"], quota: Quota): number {
  const matching = quotas.filter(
    ({ asset = quota.asset, useCase }) =>
      asset === quota.asset && (quota.useCase === undefined || useCase === quota.useCase),
  );
  return Math.max(0, ...matching.map(({ retryAfterMs }) => retryAfterMs));
}

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

const clientOf = (about: PlatformCall["about"]): string | undefined => textOf(about?.client);

const authorisation = (token: string | undefined): Record<string, string> =>
  token === undefined ? {} : { authorization: `Bearer ${token}` };

const toOutcome = (exchange: Exchange, context: Parameters<typeof readAnswer>[1]): Outcome =>
  exchange.outcome === "answered" ? readAnswer(exchange, context) : exchange;

function toLogFields(outcome: Outcome): Record<string, unknown> {
  if (outcome.outcome === "done") return { outcome: "done", status: outcome.status };
  if (outcome.outcome !== "refused") return { ...outcome };
  const { status, verdict, error, holds } = outcome;
  const errorFields = { code: error?.code, subcode: error?.subcode, trace: error?.traceId };
  return { outcome: verdict, status, ...errorFields, holds };
}

const toUsageFields = ({ app, account, business }: Usage) => ({
  usage_app: app,
  usage_account: account,
  usage_business: business,
});
