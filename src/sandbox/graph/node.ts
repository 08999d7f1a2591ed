import type { GraphError } from "./graph-error.ts";
import type { Params } from "./params.ts";
import type { Grant } from "./tokens.ts";

/** The quota that a call counts against, shown in the usage headers. */
export type UsageKind = "ads_management" | "ads_insights" | "whatsapp" | "messenger" | "instagram" | "pages";

/** An operation on a node. */
export interface Edge {
  /** Required permissions: all of them. */
  scopes?: readonly string[];
  /** Required permissions: any one of them. */
  anyScope?: readonly string[];
  /** `app`: the app's own token; `none`: no token. By default a user, business or page token is required. */
  token?: "app" | "none";
  usage?: UsageKind;
  /** Returns the body, or a Reply. */
  answer(call: Call): unknown;
}

/**
 * A class of nodes in the platform's graph. A path names a node and optionally an edge; `edges` is keyed by
 * method and edge: `GET`, `POST`, `GET campaigns`, `POST messages`.
 */
export interface NodeKind {
  name: string;
  owns(node: string): boolean;
  /** True when the grant covers the node. A node that is not covered is reported as missing. */
  reaches?(grant: Grant, node: string): boolean;
  /** The owner of the quota when it is not the node itself: the account of a campaign. */
  asset?(node: string): string | undefined;
  edges: Readonly<Record<string, Edge>>;
}

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

export const graphErrorReply = (error: GraphError): Reply =>
  new Reply(error.envelope(), { status: error.status, headers: error.headers });
