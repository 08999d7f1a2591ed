import type { Ground } from "./ground.ts";
import type { Edge, NodeKind } from "./node-kind.ts";
import { VERSION } from "./settings.ts";
import { equal, type Grant, nobody, proofOf } from "./tokens.ts";
import { usageHeaders } from "./usage.ts";
import { type Call, Reply } from "./wire/call.ts";
import {
  deadToken,
  GraphError,
  invalidParameter,
  missingPermission,
  noSuchObject,
} from "./wire/graph-error.ts";
import type { Params } from "./wire/params.ts";

/** A request as it came, its parameters read. */
export interface PlatformRequest {
  method: string;
  url: URL;
  authorization: string | undefined;
  params: Params;
}

export type Graph = (request: PlatformRequest) => Promise<Reply>;

const ADDRESS = /^\/(v\d+\.\d+)\/([^/]+)(?:\/([^/]+))?\/?$/;

/** The platforms themselves: finds the node and its edge, admits the caller, answers in the platform's words. */
export function createGraph(kinds: readonly NodeKind[], ground: Ground): Graph {
  return async ({ method, url, authorization, params }) => {
    const [, version, node = "", edgeName] = ADDRESS.exec(url.pathname) ?? [];
    if (version === undefined) throw new GraphError(2500, `Unknown path components: ${url.pathname}`);
    if (version !== VERSION)
      throw new GraphError(
        2635,
        `You are calling a deprecated version of the API. Please update to ${VERSION}.`,
      );
    const kind = kinds.find((candidate) => candidate.owns(node));
    const edge = kind?.edges[edgeName === undefined ? method : `${method} ${edgeName}`];
    const token = /^Bearer (.+)$/i.exec(authorization ?? "")?.[1] ?? params.text("access_token") ?? "";
    const grant = edge?.token === "none" ? nobody() : admitted(ground, token, params);
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
    return answered(edge, call, usageHeaders(edge.usage, asset, { percent: 2 }));
  };
}

/** What the edge answers, how much of the quota is used beside it: refusals count too. */
async function answered(edge: Edge, call: Call, usage: Record<string, string>): Promise<Reply> {
  try {
    const answer = await edge.answer(call);
    const { body, status, headers } = answer instanceof Reply ? answer : new Reply(answer);
    return new Reply(body, { status, headers: { ...usage, ...headers } });
  } catch (error) {
    throw error instanceof GraphError ? error.withHeaders(usage) : error;
  }
}

/** The grant of a token that is alive and comes with its proof. */
function admitted({ tokens, settings }: Ground, token: string, params: Params): Grant {
  if (token === "")
    throw new GraphError(104, "An access token is required to request this resource.", { status: 401 });
  const grant = tokens.read(token);
  if (!grant)
    throw new GraphError(190, "Invalid OAuth access token - Cannot parse access token", { status: 401 });
  if (grant.kind === "app") return grant;
  if (!equal(params.text("appsecret_proof") ?? "", proofOf(token, settings.PLATFORM_APP_SECRET)))
    throw new GraphError(100, "Invalid appsecret_proof provided in the API argument");
  if (tokens.isDead(token)) throw deadToken(460);
  if (grant.expires !== 0 && grant.expires * 1000 < Date.now()) throw deadToken(463);
  return grant;
}

interface Asking {
  grant: Grant;
  node: string;
  method: string;
}

function checkGrant(kind: NodeKind, edge: Edge, { grant, node, method }: Asking): void {
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
