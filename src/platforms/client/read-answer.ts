import { MINUTE } from "../../runtime/durations.ts";
import { type PlatformError, readPlatformError, withoutSecrets } from "../errors/platform-error.ts";
import { judge, type RefusalVerdict, type TokenOwner } from "../errors/verdicts.ts";
import type { Exchange, Outcome, Refusal } from "./call.ts";
import { isObject, parseAnswer } from "./json-values.ts";

type AnsweredExchange = Extract<Exchange, { outcome: "answered" }>;

interface Context {
  owner: TokenOwner;
  /** Values to redact: platforms quote a malformed token in their error. */
  secrets: readonly string[];
}

/**
 * Classifies a response by the error code in its body, otherwise by its status. A 2xx must also have a valid
 * body.
 */
export function readAnswer({ status, text }: AnsweredExchange, { owner, secrets }: Context): Outcome {
  const body = parseAnswer(text);
  const error = readPlatformError(body);
  if (error) return refusalByCode(withoutSecrets(error, secrets), status, owner);
  if (status < 200 || status >= 300) return body === undefined ? unreadable(status) : refusalByStatus(status);
  if (body === true) return { outcome: "done", status, body: { success: true } }; // some endpoints return a bare true
  return isObject(body) && !("error" in body) ? { outcome: "done", status, body } : unreadable(status);
}

/** Classifies a response without an error code. */
export function refusalByStatus(status: number): Exclude<Outcome, { outcome: "done" }> {
  if (status < 400 || status >= 500) return unreadable(status);
  const verdict = VERDICT_BY_STATUS[status] ?? "invalid";
  const holds = verdict === "throttled" ? ({ holds: "use_case" } as const) : {};
  return { outcome: "refused", status, verdict, wait: MINUTE, ...holds };
}

const unreadable = (status: number) => ({ outcome: "unreadable", status }) as const;

function refusalByCode(error: PlatformError, status: number, owner: TokenOwner): Refusal {
  const { verdict, pause, holds } = judge(error, owner);
  return { outcome: "refused", status, verdict, error, wait: pause, ...(holds ? { holds } : {}) };
}

const VERDICT_BY_STATUS: Readonly<Record<number, RefusalVerdict>> = {
  401: "permission",
  403: "permission",
  404: "missing",
  429: "throttled",
};
