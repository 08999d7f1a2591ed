import { setTimeout as sleep } from "node:timers/promises";
import { PLATFORM_CALL_DEADLINE_MS } from "../../runtime/deadlines.ts";
import type { Log } from "../../runtime/logging/log.ts";
import { PlatformFailure, toFailure } from "../errors/failure.ts";
import { createAppProofs } from "./app-proofs.ts";
import { batchBody, readBatchAnswer } from "./batch.ts";
import { formEntries } from "./body.ts";
import type { Outcome, PlatformCall } from "./call.ts";
import type { Exchange, Exchanges, OpenExchange } from "./exchange.ts";
import { applyToQuota, findHold, type HoldStore, holdKeysOf, holdsAfter } from "./holds.ts";
import { textOf } from "./json-values.ts";
import { readAnswer } from "./read-answer.ts";
import { nextRetryDelay } from "./retry.ts";
import { readUsage, type Usage } from "./usage.ts";

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
