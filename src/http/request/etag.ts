import { uuidOf } from "../../runtime/ids.ts";
import type { Exchange } from "../route.ts";

/** Sets the ETag of the reply. Returns true when the caller already has this body. */
export function setEtag({ header, setHeader }: Exchange, body: string): boolean {
  const etag = `"${uuidOf(body)}"`;
  setHeader("ETag", etag);
  setHeader("Cache-Control", "private, no-cache");
  return isKnown(header("if-none-match") ?? "", etag);
}

/** If-None-Match names any number of tags, weak ones (`W/"…"`) included, or `*` for all. */
const isKnown = (ifNoneMatch: string, etag: string): boolean =>
  ifNoneMatch
    .split(",")
    .map((tag) => tag.trim().replace(/^W\//, ""))
    .some((tag) => tag === etag || tag === "*");
