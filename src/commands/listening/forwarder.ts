import { createHmac } from "node:crypto";
import { type IncomingMessage, request as requestHttp } from "node:http";
import { request as requestHttps } from "node:https";
import { onAbort, retryUntil } from "../../runtime/async/timeouts-and-retries.ts";
import { DELIVERY_DEADLINE_MS } from "../../runtime/deadlines.ts";
import { SECOND } from "../../runtime/durations.ts";
import { withoutTrailing } from "../../runtime/http/addresses.ts";
import { attemptHeaders } from "../../security/webhook-signature.ts";
import { faultText } from "../command-line/api-client.ts";
import type { StreamedEvent } from "./event-stream.ts";

/** The answer of the handler; `error` is set when there was none. */
export interface HandlerAnswer {
  status: number | null;
  durationMs: number;
  error: string | null;
  /** The beginning of the body. */
  excerpt: string;
}

interface ForwarderOptions {
  target: URL;
  secret: string;
  /** Added to those of a delivery. */
  headers: Readonly<Record<string, string>>;
  signal: AbortSignal;
  say(line: string): void;
}

/** Posts an event; the attempt is counted from 1. Undefined when the run ended first. */
export type Forward = (event: StreamedEvent, attempt: number) => Promise<HandlerAnswer | undefined>;

/** The secret that signs forwarded events: the same for each run with a key, and no way back to the key. */
export const signingSecretOf = (apiKey: string): string =>
  `whsec_${createHmac("sha256", apiKey).update("herald listen: signing secret").digest("base64")}`;

const FIRST_RETRY_MS = 250;
const MAX_RETRY_MS = 5 * SECOND;

/**
 * Posts events like a delivery. While the handler cannot be reached, for example because it restarts, the event is tried again;
 * once it was reached, its answer or its failure is the outcome.
 */
export function createForwarder({ target, secret, headers, signal, say }: ForwarderOptions): Forward {
  let isUnreachable = false;
  return async ({ eventId: id, type, path, payload }, attempt) => {
    const url = new URL(target);
    url.pathname = withoutTrailing(target.pathname, "/") + (path ?? "");
    const post = () => {
      const event = { id, type, payload, attempt, at: new Date() };
      const signed = attemptHeaders({ ...event, tokens: { current: secret }, isTokenSent: true });
      return postOnce(url, { headers: { ...signed, ...headers }, body: payload, signal });
    };
    const onFault = (error: unknown) => {
      if (!isUnreachable && !signal.aborted)
        say(`${target.origin} cannot be reached (${faultText(error)}): events wait for it`);
      isUnreachable = true;
    };
    const retries = { signal, firstDelayMs: FIRST_RETRY_MS, maxDelayMs: MAX_RETRY_MS, onFault };
    const answer = await retryUntil(post, retries);
    if (answer !== undefined) isUnreachable = false;
    return signal.aborted ? undefined : answer;
  };
}

interface Post {
  headers: Readonly<Record<string, string>>;
  body: string;
  signal: AbortSignal;
}

/** Failures before anything was sent. */
const NOT_CONNECTED = ["ECONNREFUSED", "ENOTFOUND", "EAI_AGAIN", "EHOSTUNREACH", "ENETUNREACH"];

/** `fetch` is not used: under Deno its errors have no code that tells a refused connection from a broken one. */
async function postOnce(url: URL, { headers, body, signal }: Post): Promise<HandlerAnswer> {
  const began = performance.now();
  const deadline = new AbortController();
  const timer = setTimeout(() => deadline.abort(), DELIVERY_DEADLINE_MS);
  const cancel = onAbort(signal, () => deadline.abort());
  const durationMs = () => Math.round(performance.now() - began);
  try {
    const sentHeaders = { ...headers, "content-length": String(Buffer.byteLength(body)) };
    const answer = await exchange(url, { headers: sentHeaders, body, signal: deadline.signal });
    return { ...answer, error: null, durationMs: durationMs() };
  } catch (error) {
    if (NOT_CONNECTED.includes(String((error as { code?: unknown }).code))) throw error;
    const text = deadline.signal.aborted ? NO_ANSWER : faultText(error);
    return { status: null, excerpt: "", error: text, durationMs: durationMs() };
  } finally {
    clearTimeout(timer);
    cancel();
  }
}

const NO_ANSWER = `no answer within ${DELIVERY_DEADLINE_MS / SECOND} s`;

interface Exchanged {
  status: number;
  excerpt: string;
}

function exchange(url: URL, { headers, body, signal }: Post): Promise<Exchanged> {
  return new Promise((resolve, reject) => {
    const send = url.protocol === "https:" ? requestHttps : requestHttp;
    // A connection of its own: one that is kept may be closed by a handler that restarts.
    const request = send(url, { method: "POST", headers, signal, agent: false });
    request.on("error", reject);
    request.on("response", (response) => {
      readExcerpt(response).then(
        (excerpt) => resolve({ status: response.statusCode as number, excerpt }),
        reject,
      );
    });
    request.end(body);
  });
}

const MAX_ANSWER_BYTES = 65_536;
const EXCERPT_BYTES = 1_024;

/** Reads the answer to its end, or as far as a delivery would. */
async function readExcerpt(response: IncomingMessage): Promise<string> {
  const kept: Buffer[] = [];
  let bytes = 0;
  for await (const chunk of response as AsyncIterable<Buffer>) {
    if (bytes < EXCERPT_BYTES) kept.push(chunk);
    bytes += chunk.length;
    if (bytes > MAX_ANSWER_BYTES) break;
  }
  return Buffer.concat(kept).subarray(0, EXCERPT_BYTES).toString("utf8");
}
