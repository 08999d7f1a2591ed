import { type EncodedBody, formBody, formEntries } from "./body.ts";
import type { Exchange, PlatformCall } from "./call.ts";
import { asList, asObject, numberOf, parseAnswer, textOf } from "./json-values.ts";

/** Calls that the platform accepts in one request. */
export const MAX_CALLS_PER_BATCH = 50;

/** The body of a request that contains these reads; `version` begins the platform's paths: `v26.0`. */
export const batchBody = (calls: readonly PlatformCall[], version: string): EncodedBody =>
  formBody({
    batch: calls.map(({ method, path, query = {} }) => ({
      method,
      relative_url: `${version}${path}?${new URLSearchParams(formEntries(query))}`,
    })),
  });

/** The answer to each call, in order; undefined when the answer is not that of a batch. */
export function readBatchAnswer(exchange: Exchange, count: number): Exchange[] | undefined {
  if (exchange.outcome !== "answered" || exchange.status !== 200) return undefined;
  const parts = parseAnswer(exchange.text);
  return Array.isArray(parts) && parts.length === count ? parts.map(toExchange) : undefined;
}

/** The platform leaves out a call that took too long. */
function toExchange(part: unknown): Exchange {
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
