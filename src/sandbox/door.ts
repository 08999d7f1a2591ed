import type { IncomingHttpHeaders } from "node:http";
import type { Reply } from "./wire/call.ts";
import type { Params } from "./wire/params.ts";

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
}
