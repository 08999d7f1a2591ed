import { Agent } from "undici";
import { endOfTurn } from "../../runtime/async/end-of-turn.ts";
import { SECOND } from "../../runtime/durations.ts";
import { type HttpExchange, sendRequest } from "../../runtime/http/send-request.ts";
import type { NoAnswer } from "./call.ts";
import { type Exchange, type HttpRequest, MAX_ANSWER_BYTES, NOT_SENT_CODES } from "./exchange.ts";

/** A request whose body is in memory. */
export type BufferedRequest = HttpRequest & { body?: string | undefined; uploadTimeoutMs?: undefined };

/**
 * Idle connections close before the platform drops them: a request written to a dropped connection has an
 * unknown outcome.
 */
const KEEP_ALIVE = { keepAliveTimeout: 4 * SECOND, keepAliveMaxTimeout: 15 * SECOND };

/** Runs exchanges whose bodies are in memory, with a third of got's processor time: sends are the bulk of all calls. */
export function createBufferedExchanges(maxSockets: number) {
  const agent = new Agent({
    ...KEEP_ALIVE,
    connections: maxSockets,
    // The deadline covers both.
    headersTimeout: 0,
    bodyTimeout: 0,
  });
  return {
    async run({ method, url, headers, body, deadline, signal }: BufferedRequest): Promise<Exchange> {
      const { origin, pathname, search } = url;
      // Not idempotent: undici must never repeat a send.
      const request = {
        method,
        origin,
        path: pathname + search,
        headers,
        body: body ?? null,
        idempotent: false,
      };
      const limits = {
        deadline: Math.max(1, deadline),
        maxBytes: MAX_ANSWER_BYTES,
        keptBytes: MAX_ANSWER_BYTES,
        signal,
      };
      const exchange = await sendRequest(agent, request, limits);
      await endOfTurn(); // the connection is free only then, and the caller's next call would open another one
      return toExchange(exchange);
    },
    close: (): void => void agent.destroy(),
  };
}

function toExchange({ status, headers, body, isSent, fault }: HttpExchange): Exchange {
  if (fault === undefined && status !== null)
    return { outcome: "answered", status, headers, text: body.toString("utf8") };
  // An answer that is too large counts as one that is not JSON.
  if (fault === "too_large" && status !== null) return { outcome: "answered", status, headers, text: "" };
  return toNoAnswer(fault, isSent);
}

/** Keeps only the error code: errors may contain the request. */
function toNoAnswer(fault: HttpExchange["fault"], isSent: boolean): NoAnswer {
  if (fault === "timeout") return { outcome: "timeout", sent: isSent, reason: "request" };
  const code = fault instanceof Error && "code" in fault ? String(fault.code) : String(fault ?? "");
  return { outcome: "broken", sent: isSent && !NOT_SENT_CODES.has(code), reason: code };
}
