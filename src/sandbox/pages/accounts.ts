import { PAGES, type SocialPage } from "../built-in-assets.ts";
import type { Grant } from "../login/tokens.ts";
import { GraphError, invalidParameter } from "../wire/graph-error.ts";

/** An account that sends and receives messages: a page, or a page's photo account. */
export interface Account {
  platform: "messenger" | "instagram";
  id: string;
  page: SocialPage;
}

const ACCOUNTS: readonly Account[] = PAGES.flatMap((page): Account[] => [
  { platform: "messenger", id: page.id, page },
  ...(page.instagram ? [{ platform: "instagram" as const, id: page.instagram.id, page }] : []),
]);

export const isAccount = (id: string): boolean => ACCOUNTS.some((account) => account.id === id);

export const isOnPlatform = (platform: Account["platform"]) => (id: string) =>
  ACCOUNTS.some((account) => account.id === id && account.platform === platform);

/** Throws for an unknown id; callers pass nodes that are already matched. */
export function accountOf(id: string): Account {
  const account = ACCOUNTS.find((candidate) => candidate.id === id);
  if (!account) throw new Error(`no page or photo account has the id ${id}`);
  return account;
}

/** Returns the page that the token belongs to. */
export function pageIdOf({ assets }: Grant): string {
  const page = assets.find(isOnPlatform("messenger"));
  if (page === undefined) throw invalidParameter("The token does not belong to a page");
  return page;
}

/** A page token also covers the page's photo account. */
export const reachesAccount = ({ assets }: Grant, id: string): boolean =>
  assets.includes(id) || assets.includes(accountOf(id).page.id);

/** Actions of a page require a page token; a user token is refused. */
export function checkPageToken({ kind }: Grant): void {
  if (kind !== "page")
    throw new GraphError(210, "(#210) A page access token is required to request this resource.", {
      status: 403,
    });
}
