import type { Fields } from "../client/body.ts";
import type { PlatformClient } from "../client/client.ts";
import { type PlatformSender, platformSender } from "../client/sender.ts";

/** An ad account and a token that has access to it. */
export interface AdAccess {
  /** Includes the `act_` prefix. */
  account: string;
  token: string;
  /** Ids that identify the call in the log. */
  about?: Fields;
}

export const withoutActPrefix = (account: string): string => account.replace(/^act_/, "");

/** Calls the platform with the account's token; `useCase` names the quota its calls count against. */
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
