import { callForAccount } from "../../../domain/ads/ad-account-access.ts";
import { toFacts } from "../../../domain/ads/ad-account-facts.ts";
import { subscribe } from "../../../domain/ads/ad-account-subscription.ts";
import { recordSync } from "../../../domain/ads/ad-accounts.ts";
import { aboutRequester, type Requester } from "../../../domain/tenants/request-actor.ts";
import { isTokenDead } from "../../../platforms/errors/failure.ts";
import type { Platforms } from "../../../platforms/platforms.ts";
import type { Log } from "../../../runtime/logging/log.ts";
import type { SecretBox } from "../../../security/secret-box.ts";
import { type AdAccountRow, findAdAccount } from "../../../store/ads/ad-accounts.ts";
import type { Database } from "../../../store/database/database.ts";
import { accountNotFound, requireAdAccount } from "../require-ad-account.ts";

export interface AdAccountParts {
  db: Database;
  secretBox: SecretBox;
  log: Log;
  platforms: Pick<Platforms, "ads">;
}

/**
 * Subscribes to the changes of an account that has become active. On failure the account stays active, and
 * the token check job retries.
 */
export async function subscribeActiveAccount(
  parts: AdAccountParts,
  requester: Requester,
  row: AdAccountRow,
): Promise<AdAccountRow> {
  const { db, log, platforms } = parts;
  const { client_id: client, id, ad_account_id: ad_account } = row;
  try {
    const account = await requireAdAccount(parts, requester, id);
    const subscriptionParts = { db, log, accounts: platforms.ads.accounts };
    await callForAccount(parts, account, () => subscribe(subscriptionParts, account));
  } catch (error) {
    if (!isTokenDead(error))
      log.error("ad_account.subscribe_failed", { ...aboutRequester(requester), ad_account, err: error });
  }
  // A dead token, detected above, revokes the account.
  const current = await findAdAccount(db, client, id).catch(() => undefined);
  return current ?? row;
}

export async function refreshAdAccount(
  parts: AdAccountParts,
  requester: Requester,
  id: string,
): Promise<AdAccountRow> {
  const { db, platforms } = parts;
  const account = await requireAdAccount(parts, requester, id);
  const read = await callForAccount(parts, account, () => platforms.ads.accounts.read(account.access));
  const fetched = [{ id: account.row.id, ...toFacts(read) }];
  const { rows } = await recordSync(db, account.row.connection_id, { fetched, unreachableIds: [] });
  const row = rows[0] ?? (await findAdAccount(db, requester.clientId, id));
  if (!row) throw accountNotFound();
  return row;
}
