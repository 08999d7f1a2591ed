import type { Fields } from "../client/body.ts";
import type { PlatformClient } from "../client/client.ts";
import { type PlatformSender, platformSender } from "../client/sender.ts";

/** An ad account and the token that reaches it. */
export interface AdAccess {
  /** With `act_`. */
  account: string;
  token: string;
  /** Ids for the log. */
  about?: Fields;
}

export const withoutActPrefix = (account: string): string => account.replace(/^act_/, "");

/** Speaks for this account; `useCase` names the quota that its calls count against. */
export const accountSender = (
  client: PlatformClient,
  { account, token, about }: AdAccess,
  useCase: "ads_management" | "ads_insights" = "ads_management",
): PlatformSender =>
  platformSender(client, {
    token,
    owner: "ad_account",
    quota: { asset: withoutActPrefix(account), useCase },
    about: { ...about, ad_account: account },
  });
