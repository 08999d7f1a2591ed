import type { AdAccounts } from "../../platforms/ads/accounts.ts";
import { isTokenDead, PlatformFailure } from "../../platforms/errors/failure.ts";
import type { Log } from "../../runtime/logging/log.ts";
import { markSubscribed } from "../../store/ads/ad-account-changes.ts";
import type { Database } from "../../store/database/database.ts";
import type { AdAccountAccess } from "./ad-account-access.ts";

interface Parts {
  db: Database;
  accounts: AdAccounts;
  log: Log;
}

/** Subscribes to the account's changes. False when the platform refuses; throws when the token is dead. */
export async function subscribe(
  { db, accounts, log }: Parts,
  { row, access }: AdAccountAccess,
): Promise<boolean> {
  try {
    await accounts.subscribe(access);
  } catch (error) {
    if (!(error instanceof PlatformFailure) || isTokenDead(error)) throw error;
    const { client_id: client, ad_account_id: ad_account } = row;
    log.warn("ad_account.subscribe_failed", { client, ad_account, verdict: error.verdict });
    return false;
  }
  await markSubscribed(db, row.client_id, row.id);
  return true;
}
