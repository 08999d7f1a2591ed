import type { IncomingHttpHeaders } from "node:http";
import type { Reply } from "../wire/call.ts";
import type { Params } from "../wire/params.ts";

/** Something beside the graph: a page, or a door for developers. */
export interface Door {
  method: "GET" | "POST" | "DELETE";
  /** Exact, or with a trailing "/*". */
  path: string;
  answer(request: DoorRequest): Promise<Reply> | Reply;
}

export interface DoorRequest {
  method: string;
  url: URL;
  headers: IncomingHttpHeaders;
  body: Buffer;
  params: Params;
  /** Why the parameters are without those of the body. Doors that read the body themselves need not care. */
  unreadable?: unknown;
}

export const findDoor = (doors: readonly Door[], method: string, path: string): Door | undefined =>
  doors.find((door) => door.method === method && covers(door.path, path));

const covers = (pattern: string, path: string): boolean =>
  pattern.endsWith("/*") ? path.startsWith(pattern.slice(0, -1)) : path === pattern;
