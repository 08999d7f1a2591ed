import { MINUTE } from "../../runtime/durations.ts";
import { parseJson } from "../../runtime/json.ts";
import { readPlatformError } from "../errors/platform-error.ts";
import { judge, type TokenOwner, type Verdict } from "../errors/verdicts.ts";
import type { Outcome, Refused } from "./call.ts";
import type { Exchange } from "./exchange.ts";

type Answered = Extract<Exchange, { outcome: "answered" }>;

interface Context {
  owner: TokenOwner;
  /** Platforms quote a token they cannot read; it goes no further. */
  secrets: readonly string[];
}

/** What an answer means: by the code in its body, else by its status. */
export function readAnswer({ status, text }: Answered, { owner, secrets }: Context): Outcome {
  const body = parsedOrNothing(text);
  if (body === undefined) return { outcome: "unreadable", status };
  if (readPlatformError(body)) return refusalByCode(parsedOrNothing(without(secrets, text)), status, owner);
  return status < 300 ? { outcome: "done", status, body } : refusalByStatus(status);
}

/** What is known of an answer that has no code. */
export function refusalByStatus(status: number): Exclude<Outcome, { outcome: "done" }> {
  if (status < 400 || status >= 500) return { outcome: "unreadable", status };
  return { outcome: "refused", status, verdict: BY_STATUS[status] ?? "invalid", wait: MINUTE };
}

function refusalByCode(body: unknown, status: number, owner: TokenOwner): Refused {
  const error = readPlatformError(body);
  if (!error) throw new Error("an error body without its secrets is no error body any more");
  const { verdict, pause, holds } = judge(error, owner);
  return { outcome: "refused", status, verdict, error, wait: pause, ...(holds ? { holds } : {}) };
}

const BY_STATUS: Readonly<Record<number, Verdict>> = {
  401: "permission",
  403: "permission",
  404: "missing",
  429: "throttled",
};

function parsedOrNothing(text: string): unknown {
  try {
    return parseJson(text);
  } catch {
    return undefined;
  }
}

const without = (secrets: readonly string[], text: string): string =>
  secrets.reduce((rest, secret) => rest.replaceAll(secret, "[secret]"), text);
