import { type SandboxSettings, VERSION } from "../settings.ts";
import {
  GraphError,
  invalidParameter,
  missingPermission,
  noSuchObject,
  unknownToken,
} from "./graph-error.ts";
import type { Call, Edge, NodeKind, Reply, UsageKind } from "./node.ts";
import type { Params } from "./params.ts";
import {
  anonymousGrant,
  appSecretProof,
  type Grant,
  safeEquals,
  type Tokens,
  tokenErrorOf,
} from "./tokens.ts";
import { usageHeaders, withUsageHeaders } from "./usage.ts";

/** A request with its parameters parsed. */
interface PlatformRequest {
  method: string;
  url: URL;
  authorization: string | undefined;
  params: Params;
}

export interface Graph {
  answer(request: PlatformRequest): Promise<Reply>;
  /** Returns the quota that a call counts against, regardless of its token. */
  quotaOf(method: string, url: URL): Quota;
}

export interface Quota {
  usage: UsageKind | undefined;
  /** The account or business that the quota belongs to. */
  asset: string;
  /** The edge's key in its kind: `POST messages`. */
  edge: string;
}

interface GraphContext {
  settings: Pick<SandboxSettings, "PLATFORM_APP_SECRET">;
  tokens: Tokens;
  now(): number;
}

const GRAPH_PATH = /^\/(v\d+\.\d+)\/([^/]+)(?:\/([^/]+))?\/?$/;

/** Routes a call to its node and edge, checks its token, and answers in the platform's format. */
export function createGraph(kinds: readonly NodeKind[], context: GraphContext): Graph {
  const find = (method: string, url: URL) => {
    const [, version, node = "", edgeName] = GRAPH_PATH.exec(url.pathname) ?? [];
    const edgeKey = edgeName === undefined ? method : `${method} ${edgeName}`;
    const kind = kinds.find((candidate) => candidate.owns(node));
    return { version, node, edgeName, edgeKey, kind, edge: kind?.edges[edgeKey] };
  };
  const answer: Graph["answer"] = async (request) => {
    const { method, url, params } = request;
    const { version, node, edgeName, kind, edge } = find(method, url);
    if (version === undefined) throw new GraphError(2500, `Unknown path components: ${url.pathname}`);
    if (version !== VERSION)
      throw new GraphError(
        2635,
        `You are calling a deprecated version of the API. Please update to ${VERSION}.`,
      );
    const token = tokenOf(request);
    const grant = edge?.token === "none" ? anonymousGrant() : authenticate(context, token, params);
    if (!kind || !edge)
      throw kind && edgeName !== undefined ? unknownEdge(edgeName) : noSuchObject(method, node);
    checkGrant(kind, edge, { grant, node, method });
    const call: Call = {
      method: method as Call["method"],
      node,
      params,
      grant,
      token,
      address: `${url.origin}${url.pathname}`,
    };
    const asset = kind.asset?.(node) ?? node;
    return withUsageHeaders(usageHeaders(edge.usage, asset), () => edge.answer(call));
  };
  return {
    answer,
    quotaOf(method, url) {
      const { kind, edge, edgeKey, node } = find(method, url);
      return { usage: edge?.usage, asset: kind?.asset?.(node) ?? node, edge: edgeKey };
    },
  };
}

/** Returns the token from the header or the parameters; empty when there is none. */
export const tokenOf = ({
  authorization,
  params,
}: Pick<PlatformRequest, "authorization" | "params">): string =>
  bearerTokenOf(authorization) ?? params.text("access_token") ?? "";

export const bearerTokenOf = (authorization: string | undefined): string | undefined =>
  /^Bearer (.+)$/i.exec(authorization ?? "")?.[1];

/** Returns the token's grant; throws unless the token is alive and its proof is valid. */
function authenticate(context: GraphContext, token: string, params: Params): Grant {
  if (token === "")
    throw new GraphError(104, "An access token is required to request this resource.", { status: 401 });
  const grant = context.tokens.read(token);
  if (!grant) throw unknownToken();
  if (grant.kind === "app") return grant;
  if (
    !safeEquals(
      params.text("appsecret_proof") ?? "",
      appSecretProof(token, context.settings.PLATFORM_APP_SECRET),
    )
  )
    throw new GraphError(100, "Invalid appsecret_proof provided in the API argument");
  const tokenError = tokenErrorOf(context, token, grant);
  if (tokenError) throw tokenError;
  return grant;
}

interface AccessRequest {
  grant: Grant;
  node: string;
  method: string;
}

function checkGrant(kind: NodeKind, edge: Edge, { grant, node, method }: AccessRequest): void {
  if (edge.token === "none") return;
  if ((edge.token === "app") !== (grant.kind === "app"))
    throw new GraphError(104, "This method must be called with another kind of access token.", {
      status: 401,
    });
  if (kind.reaches && !kind.reaches(grant, node)) throw noSuchObject(method, node);
  const missing = edge.scopes?.find((scope) => !grant.scopes.includes(scope));
  if (missing !== undefined) throw missingPermission(missing === "ads_management" ? 294 : 10, missing);
  if (edge.anyScope && !edge.anyScope.some((scope) => grant.scopes.includes(scope)))
    throw missingPermission(200, edge.anyScope.join(" or "));
}

const unknownEdge = (edge: string) => invalidParameter(`Unknown path components: /${edge}`);
