import type { SandboxContext } from "../../context.ts";
import { tokenErrorOf } from "../../login/token-error.ts";
import type { SandboxRequest, SandboxRoute } from "../../server/route.ts";
import { Reply } from "../../wire/call.ts";
import { GraphError } from "../../wire/graph-error.ts";
import { reachesNumber } from "../numbers.ts";
import type { Media } from "./media.ts";
import { mediaByTicket } from "./media-kind.ts";

/** Downloads files. A URL is valid for minutes and only together with a token. */
export const mediaRoutes = (context: SandboxContext): SandboxRoute[] => [
  { method: "GET", path: "/media/*", answer: (request) => download(context, request) },
];

function download(context: SandboxContext, { url, headers }: SandboxRequest): Reply {
  const media = mediaByTicket(context, url.searchParams.get("ticket") ?? "");
  if (!media || url.pathname !== `/media/${media.id}`)
    throw new GraphError(100, "The URL of this file has expired", { status: 404 });
  checkAccess(context, media, headers.authorization);
  return new Reply(media.bytes, { headers: { "content-type": media.mimeType } });
}

function checkAccess(context: SandboxContext, { number }: Media, authorization: string | undefined): void {
  const token = /^Bearer (.+)$/i.exec(authorization ?? "")?.[1] ?? "";
  const grant = context.tokens.read(token);
  if (!grant || !reachesNumber(grant, number))
    throw new GraphError(190, "Invalid OAuth access token", { status: 401 });
  const tokenError = tokenErrorOf(context, token, grant);
  if (tokenError) throw tokenError;
}
