import type { Grant } from "./login/tokens.ts";
import type { Call } from "./wire/call.ts";

/** Which quota a call counts against, shown in the usage headers. */
export type UsageKind = "ads_management" | "ads_insights" | "whatsapp" | "messenger" | "instagram" | "pages";

/** One thing that can be asked of a node. */
export interface Edge {
  /** Permissions without which it is refused. */
  scopes?: readonly string[];
  /** Permissions of which one is enough. */
  anyScope?: readonly string[];
  /** `app`: only the app's own token opens it; `none`: no token. Anything else wants a person's, a business's or a page's. */
  token?: "app" | "none";
  usage?: UsageKind;
  /** The body, or a Reply. */
  answer(call: Call): unknown;
}

/**
 * The platform is a graph: every address names a node, and perhaps one of its edges. A kind says which nodes are its own,
 * who may reach them and what can be asked of them, by method and edge: `GET`, `POST`, `GET campaigns`, `POST messages`.
 */
export interface NodeKind {
  name: string;
  owns(node: string): boolean;
  /** Whether the grant covers this node. What it does not cover looks as if it did not exist. */
  reaches?(grant: Grant, node: string): boolean;
  /** Whose quota a call counts against, when it is not the node's own: the account of a campaign. */
  asset?(node: string): string | undefined;
  edges: Readonly<Record<string, Edge>>;
}
