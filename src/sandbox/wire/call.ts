import type { Grant } from "../login/tokens.ts";
import type { Params } from "./params.ts";

/** A request to a platform with its token checked and its parameters parsed. */
export interface Call {
  method: "GET" | "POST" | "DELETE";
  /** The node that the path names: `act_1`, `me`, a number. */
  node: string;
  params: Params;
  /** The token's grant; an empty grant on an edge that requires no token. */
  grant: Grant;
  /** The token sent by the caller; links to other list pages contain it. */
  token: string;
  /** The URL of this edge without its query; links to other list pages start with it. */
  address: string;
}

interface ReplyOptions {
  status?: number;
  headers?: Record<string, string>;
}

/** An answer with its own status or headers. Any other value from an edge is a body with status 200. */
export class Reply {
  readonly body: unknown;
  readonly status: number;
  readonly headers: Record<string, string>;

  /** A Buffer is sent unchanged, anything else as JSON. */
  constructor(body: unknown, { status = 200, headers = {} }: ReplyOptions = {}) {
    this.body = body;
    this.status = status;
    this.headers = headers;
  }
}
