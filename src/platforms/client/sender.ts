import { unusableAnswer } from "../errors/failure.ts";
import type { EncodedBody, Fields } from "./body.ts";
import type { PlatformCall } from "./call.ts";
import type { PlatformClient } from "./client.ts";
import { asObject } from "./json-values.ts";
import { type ListPageRequest, type PlatformListPage, readAllListPages, readListPage } from "./list-pages.ts";

/** The token, its owner and the quota a call counts against. */
export type CallIdentity = Pick<PlatformCall, "token" | "owner" | "quota" | "about">;

/**
 * Calls with the token and quota of an account, business or page. Each returns the body or throws a
 * PlatformFailure.
 */
export interface PlatformSender {
  get(path: string, query?: Fields): Promise<Record<string, unknown>>;
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
