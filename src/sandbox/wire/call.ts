import type { Grant } from "../login/tokens.ts";
import type { Params } from "./params.ts";

/** One request to a platform, read and admitted. */
export interface Call {
  method: "GET" | "POST" | "DELETE";
  /** The object that is spoken to, as the path names it: `act_1`, `me`, a number. */
  node: string;
  params: Params;
  /** What the token grants; an edge that wants none gets the grant of nobody. */
  grant: Grant;
  /** The token as it came; links to further pages carry it. */
  token: string;
  /** The address of this edge without its query: where further pages lie. */
  address: string;
}

interface ReplyOptions {
  status?: number;
  headers?: Record<string, string>;
}

/** An answer with a status or headers of its own. Everything else that answers a call is a body, sent with 200. */
export class Reply {
  readonly body: unknown;
  readonly status: number;
  readonly headers: Record<string, string>;

  /** A Buffer goes out as it is, anything else as JSON. */
  constructor(body: unknown, { status = 200, headers = {} }: ReplyOptions = {}) {
    this.body = body;
    this.status = status;
    this.headers = headers;
  }
}
