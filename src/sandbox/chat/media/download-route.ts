import type { Ground } from "../../context.ts";
import { endOf } from "../../login/token-end.ts";
import type { Door, DoorRequest } from "../../server/route.ts";
import { Reply } from "../../wire/call.ts";
import { GraphError } from "../../wire/graph-error.ts";
import { reachesNumber } from "../numbers.ts";
import type { Media } from "./media.ts";
import { mediaByTicket } from "./media-kind.ts";

/** Where files are fetched: the address is good for minutes, and only together with the token. */
export const mediaDoors = (ground: Ground): Door[] => [
  { method: "GET", path: "/media/*", answer: (request) => download(ground, request) },
];

function download(ground: Ground, { url, headers }: DoorRequest): Reply {
  const media = mediaByTicket(ground, url.searchParams.get("ticket") ?? "");
  if (!media || url.pathname !== `/media/${media.id}`)
    throw new GraphError(100, "The address of this file has expired", { status: 404 });
  admit(ground, media, headers.authorization);
  return new Reply(media.bytes, { headers: { "content-type": media.mimeType } });
}

function admit(ground: Ground, { number }: Media, authorization: string | undefined): void {
  const token = /^Bearer (.+)$/i.exec(authorization ?? "")?.[1] ?? "";
  const grant = ground.tokens.read(token);
  if (!grant || !reachesNumber(grant, number))
    throw new GraphError(190, "Invalid OAuth access token", { status: 401 });
  const end = endOf(ground, token, grant);
  if (end) throw end;
}
