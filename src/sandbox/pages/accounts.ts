import { PAGES, type SocialPage } from "../built-in-assets.ts";
import type { Grant } from "../login/tokens.ts";
import { GraphError, invalidParameter } from "../wire/graph-error.ts";

/** Where messages come and go: a page, or the photo account that belongs to one. */
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

/** Of a node that is known to be one. */
export function accountOf(id: string): Account {
  const account = ACCOUNTS.find((candidate) => candidate.id === id);
  if (!account) throw new Error(`no page or photo account has the id ${id}`);
  return account;
}

/** The page whose token it is. */
export function pageIdOf({ assets }: Grant): string {
  const page = assets.find(isOnPlatform("messenger"));
  if (page === undefined) throw invalidParameter("The token belongs to no page");
  return page;
}

/** A page's token opens its photo account too. */
export const reachesAccount = ({ assets }: Grant, id: string): boolean =>
  assets.includes(id) || assets.includes(accountOf(id).page.id);

/** What a page does is done with the page's own token, not with a person's. */
export function checkPageToken({ kind }: Grant): void {
  if (kind !== "page")
    throw new GraphError(210, "(#210) A page access token is required to request this resource.", {
      status: 403,
    });
}
