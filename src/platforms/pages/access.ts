import type { Fields } from "../client/body.ts";
import type { PlatformClient } from "../client/client.ts";
import { type Speaker, speaker } from "../client/sender.ts";

/** A page, which also speaks for the photo account that is linked to it. */
export interface PageAccess {
  pageId: string;
  /** The page's own token. */
  token: string;
  /** Ids for the log. */
  about?: Fields;
}

export type PageUse = "messenger" | "instagram" | "pages";

export const forPage = (
  client: PlatformClient,
  { pageId, token, about }: PageAccess,
  useCase: PageUse,
): Speaker =>
  speaker(client, {
    token,
    owner: "channel",
    quota: { asset: pageId, useCase },
    ...(about ? { about } : {}),
  });
