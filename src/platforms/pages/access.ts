import type { Fields } from "../client/body.ts";
import type { PlatformClient } from "../client/client.ts";
import { type CallIdentity, type PlatformSender, platformSender } from "../client/sender.ts";

/** A page, which also speaks for the photo account that is linked to it. */
export interface PageAccess {
  pageId: string;
  /** The page's own token. */
  token: string;
  /** Ids for the log. */
  about?: Fields;
}

export type PageUseCase = "messenger" | "instagram" | "pages";

export const pageIdentity = ({ pageId, token, about }: PageAccess, useCase: PageUseCase): CallIdentity => ({
  token,
  owner: "channel",
  quota: { asset: pageId, useCase },
  ...(about ? { about } : {}),
});

export const pageSender = (client: PlatformClient, page: PageAccess, useCase: PageUseCase): PlatformSender =>
  platformSender(client, pageIdentity(page, useCase));
