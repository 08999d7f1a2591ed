import { revokeDeadConnection } from "../../../src/domain/ads/ad-account-access.ts";
import { toFacts } from "../../../src/domain/ads/ad-account-facts.ts";
import { subscribe } from "../../../src/domain/ads/ad-account-subscription.ts";
import { recordSync } from "../../../src/domain/ads/ad-accounts.ts";
import type { PlatformAdAccount } from "../../../src/platforms/ads/accounts.ts";
import { isForbidden, isTokenDead } from "../../../src/platforms/errors/failure.ts";
import { type AdAccountRow, listAccountsOfConnection } from "../../../src/store/ads/ad-accounts.ts";
import type { ConnectionRow } from "../../../src/store/ads/ad-connections.ts";
import { rethrowPause } from "./app-errors.ts";
import type { CheckParts, Findings } from "./findings.ts";

/** Reads the accounts of a connection again. Revokes the connection when the platform reports its token as dead. */
export async function checkAccounts(
  parts: CheckParts,
  connection: ConnectionRow,
  token: string,
): Promise<Partial<Findings>> {
  const rows = await listAccountsOfConnection(parts.db, connection.id);
  try {
    const accountsById = await readAccounts(parts, { connection, token, rows });
    return await recordAccounts(parts, { connection, token, rows, accountsById });
  } catch (error) {
    if (isTokenDead(error)) return { revoked: await revokeDeadConnection(parts, connection.id) };
    return rethrowPause(error);
  }
}

interface ConnectionAccounts {
  connection: ConnectionRow;
  token: string;
  rows: readonly AdAccountRow[];
}

/** The platform's data of each account, by its id there; null when the token may not read it. */
type AccountsById = Map<string, PlatformAdAccount | null>;

/**
 * Reads accounts that the list lacks one by one: neither a gap nor a refused list proves that an account is unreachable.
 * Skips those already known to be unreachable.
 */
async function readAccounts(
  { ads }: CheckParts,
  { connection, token, rows }: ConnectionAccounts,
): Promise<AccountsById> {
  const about = { client: connection.client_id, connection: connection.id };
  const listed = await ads.accounts.listAll(token, about).catch(fallbackIfForbidden([]));
  const accountsById: AccountsById = new Map(listed.map((account) => [account.ad_account_id, account]));
  for (const { ad_account_id: account, unreached_since } of rows) {
    if (accountsById.has(account) || unreached_since !== null) continue;
    accountsById.set(
      account,
      await ads.accounts.read({ account, token, about }).catch(fallbackIfForbidden(null)),
    );
  }
  return accountsById;
}

const fallbackIfForbidden =
  <T>(fallback: T) =>
  (error: unknown): T => {
    if (isForbidden(error)) return fallback;
    throw error;
  };

async function recordAccounts(
  parts: CheckParts,
  { connection, token, rows, accountsById }: ConnectionAccounts & { accountsById: AccountsById },
): Promise<Partial<Findings>> {
  const { db, log } = parts;
  const { id, client_id: client } = connection;
  const readable = rows.flatMap((row) => {
    const account = accountsById.get(row.ad_account_id);
    return account ? [{ row, facts: { id: row.id, ...toFacts(account) } }] : [];
  });
  const unreachableIds = rows
    .filter(({ ad_account_id }) => accountsById.get(ad_account_id) === null)
    .map((row) => row.id);
  const fetched = readable.map(({ facts }) => facts);
  const { changed, unreachable } = await recordSync(db, id, { fetched, unreachableIds });
  for (const ad_account of unreachable) log.warn("ad_account.unreachable", { client, ad_account });
  const unsubscribed = readable.map(({ row }) => row).filter(needsSubscription);
  const subscribed = await subscribeAll(parts, { connection, token, rows: unsubscribed });
  return { updated: changed, unreached: unreachable.length, ...subscribed };
}

/** True when the subscription failed on activation. */
const needsSubscription = ({ status, subscribed_at }: AdAccountRow) =>
  status === "active" && subscribed_at === null;

async function subscribeAll(
  { db, ads, log }: CheckParts,
  { connection, token, rows }: ConnectionAccounts,
): Promise<Partial<Findings>> {
  let subscribed = 0;
  for (const row of rows) {
    const access = { account: row.ad_account_id, token, about: { client: row.client_id } };
    const opened = { row: { ...row, connection_id: connection.id }, access };
    if (await subscribe({ db, accounts: ads.accounts, log }, opened)) subscribed += 1;
  }
  return { subscribed, not_subscribed: rows.length - subscribed };
}
