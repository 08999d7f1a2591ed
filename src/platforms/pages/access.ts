import type { Fields } from "../client/body.ts";
import type { PlatformClient } from "../client/client.ts";
import { type CallIdentity, type PlatformSender, platformSender } from "../client/sender.ts";

/** A page; it also sends for the photo account linked to it. */
export interface PageAccess {
  pageId: string;
  /** The page's access token. */
  token: string;
  /** Ids that identify the call in the log. */
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
