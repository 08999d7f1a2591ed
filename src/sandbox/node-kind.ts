import type { Grant } from "./login/tokens.ts";
import type { Call } from "./wire/call.ts";

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
