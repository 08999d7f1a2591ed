import type { PlatformAdAccount } from "../../platforms/ads/accounts.ts";
import { toStorable } from "../../schema/storable.ts";
import { AD_ACCOUNT_FACTS, type AdAccountFacts } from "../../store/ads/ad-accounts.ts";

const textOrNull = (text: string | undefined) => (text === undefined ? null : toStorable(text));

/** The platform's facts about an ad account, with characters replaced that Postgres rejects. */
export const toFacts = (account: PlatformAdAccount): AdAccountFacts => ({
  name: toStorable(account.name),
  currency: toStorable(account.currency),
  timezone_name: toStorable(account.timezone_name),
  account_status: account.account_status,
  business_id: textOrNull(account.business_id),
  business_name: textOrNull(account.business_name),
});

export const haveChanged = (one: AdAccountFacts, other: AdAccountFacts): boolean =>
  AD_ACCOUNT_FACTS.some((fact) => one[fact] !== other[fact]);
