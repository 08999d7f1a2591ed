import { unavailable } from "../errors/failure.ts";
import type { EncodedBody, Fields } from "./body.ts";
import type { Outcome, PlatformCall } from "./call.ts";
import type { PlatformClient } from "./client.ts";
import { type PageRequest, type PlatformPage, readAllPages, readPage } from "./pages.ts";
import { asObject } from "./shapes.ts";

/** What all calls in somebody's name have in common. */
export type Speaking = Pick<PlatformCall, "token" | "owner" | "quota" | "about">;

/** Calls in somebody's name. Each answers the body, or throws the API's error; `attempt` answers any outcome. */
export interface Speaker {
  get(path: string, query?: Fields): Promise<Record<string, unknown>>;
  page(path: string, query: Fields, page: PageRequest): Promise<PlatformPage>;
  allPages(path: string, query: Fields): Promise<Fields[]>;
  /** May be repeated by whoever asked for it. */
  change(
    path: string,
    body?: EncodedBody,
    pace?: Pick<PlatformCall, "sending" | "deadline">,
  ): Promise<Record<string, unknown>>;
  /** Is never repeated. */
  create(path: string, body: EncodedBody): Promise<Record<string, unknown>>;
  attempt(call: Omit<PlatformCall, keyof Speaking>): Promise<Outcome>;
}

export function speaker(client: PlatformClient, speaking: Speaking): Speaker {
  const ask = async (call: Omit<PlatformCall, keyof Speaking>) =>
    asObject(await client.ask({ ...call, ...speaking }));
  return {
    get: (path, query = {}) => ask({ effect: "read", method: "GET", path, query }),
    page: (path, query, page) => readPage(client, { path, query, ...speaking }, page),
    allPages: (path, query) => readAllPages(client, { path, query, ...speaking }),
    async change(path, body, pace = {}) {
      const answer = await ask({
        effect: "change",
        method: "POST",
        path,
        ...(body ? { body } : {}),
        ...pace,
      });
      if (String(answer.success) === "false") throw unavailable("The platform did not carry it out");
      return answer;
    },
    create: (path, body) => ask({ effect: "create", method: "POST", path, body }),
    attempt: (call) => client.call({ ...call, ...speaking }),
  };
}
