import { asObject, type EncodedBody, type Fields } from "../bodies.ts";
import { type PlatformFailure, unusableAnswer } from "../errors/failure.ts";
import { type Outcome, type PlatformCall, toFailure } from "./call.ts";
import type { PlatformClient } from "./client.ts";
import { type ListPageRequest, type PlatformListPage, readAllListPages, readListPage } from "./list-pages.ts";

/** The token, its owner and the quota a call counts against. */
export type CallIdentity = Pick<PlatformCall, "token" | "owner" | "quota" | "about">;

/**
 * Calls with the token and quota of an account, business or page. Each returns the body or throws a
 * PlatformFailure.
 */
export interface PlatformSender {
  get(path: string, query?: Fields): Promise<Record<string, unknown>>;
  /** Reads up to MAX_CALLS_PER_BATCH objects with one request; each result is the object or the reason why it was not read. */
  getEach(paths: readonly string[], query: Fields): Promise<(Fields | PlatformFailure)[]>;
  page(path: string, query: Fields, page: ListPageRequest): Promise<PlatformListPage>;
  allPages(path: string, query: Fields): Promise<Fields[]>;
  /** Not retried here; the caller may repeat it. */
  change(
    path: string,
    body?: EncodedBody,
    timing?: Pick<PlatformCall, "uploadTimeoutMs" | "deadline">,
  ): Promise<Record<string, unknown>>;
  /** Never repeated. */
  create(path: string, body: EncodedBody): Promise<Record<string, unknown>>;
}

export function platformSender(client: PlatformClient, identity: CallIdentity): PlatformSender {
  const callForObject = async (call: Omit<PlatformCall, keyof CallIdentity>) =>
    asObject(await client.callOrThrow({ ...call, ...identity }));
  return {
    async getEach(paths, query) {
      const calls = paths.map(
        (path): PlatformCall => ({ effect: "read", method: "GET", path, query, ...identity }),
      );
      const outcomes = await callEach(client, calls);
      return outcomes.map((outcome) =>
        outcome.outcome === "done"
          ? asObject(outcome.body)
          : toFailure(outcome, { effect: "read", ...identity }),
      );
    },
    get: (path, query = {}) => callForObject({ effect: "read", method: "GET", path, query }),
    page: (path, query, page) => readListPage(client, { path, query, ...identity }, page),
    allPages: (path, query) => readAllListPages(client, { path, query, ...identity }),
    async change(path, body, timing = {}) {
      const answer = await callForObject({
        effect: "change",
        method: "POST",
        path,
        ...(body ? { body } : {}),
        ...timing,
      });
      if (String(answer.success) === "false")
        throw unusableAnswer("The platform reported that the change was not made");
      return answer;
    },
    create: (path, body) => callForObject({ effect: "create", method: "POST", path, body }),
  };
}

/** Uses a batch for several calls. A platform that does not accept the batch itself gets the calls one by one. */
async function callEach(client: PlatformClient, calls: readonly PlatformCall[]): Promise<Outcome[]> {
  const [first, ...rest] = calls;
  if (!first) return [];
  const outcomes = rest.length === 0 ? [] : await client.batch([first, ...rest]);
  if (rest.length > 0 && !outcomes.every(isUnusable)) return outcomes;
  const single: Outcome[] = [];
  for (const call of calls) single.push(await client.call(call));
  return single;
}

const isUnusable = (outcome: Outcome): boolean =>
  outcome.outcome === "unreadable" ||
  (outcome.outcome === "refused" && (outcome.verdict === "invalid" || outcome.verdict === "missing"));
