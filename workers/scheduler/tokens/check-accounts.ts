import { endConnection } from "../../../src/domain/ads/ad-account-access.ts";
import { toFacts } from "../../../src/domain/ads/ad-account-facts.ts";
import { subscribe } from "../../../src/domain/ads/ad-account-subscription.ts";
import { recordSync } from "../../../src/domain/ads/ad-accounts.ts";
import type { PlatformAdAccount } from "../../../src/platforms/ads/accounts.ts";
import { isForbidden, isTokenDead } from "../../../src/platforms/errors/failure.ts";
import { markUnreached } from "../../../src/store/ads/ad-account-changes.ts";
import { type AdAccountRow, accountsOfConnection } from "../../../src/store/ads/ad-accounts.ts";
import type { ConnectionRow } from "../../../src/store/ads/ad-connections.ts";
import { pauseOr } from "./app-errors.ts";
import type { CheckParts, Findings } from "./findings.ts";

/** Reads the accounts of a connection anew. Its token may die in the course of it. */
export async function checkAccounts(
  parts: CheckParts,
  connection: ConnectionRow,
  token: string,
): Promise<Partial<Findings>> {
  const rows = await accountsOfConnection(parts.db, connection.id);
  try {
    const read = await readAccounts(parts, { connection, token, rows });
    return await recordAccounts(parts, { connection, token, rows, read });
  } catch (error) {
    if (isTokenDead(error)) return { revoked: await endConnection(parts, connection.id) };
    return pauseOr(error);
  }
}

interface Reading {
  connection: ConnectionRow;
  token: string;
  rows: readonly AdAccountRow[];
}

/** What the platform says of each account, by its id there; null where it says that the token may not know. */
type Read = Map<string, PlatformAdAccount | null>;

/** A list that lacks one proves nothing, and one that is refused not for each: those are asked for by name, but once. */
async function readAccounts({ ads }: CheckParts, { connection, token, rows }: Reading): Promise<Read> {
  const about = { client: connection.client_id, connection: connection.id };
  const listed = await ads.accounts.listAll(token, about).catch(ifForbidden([]));
  const read: Read = new Map(listed.map((account) => [account.ad_account_id, account]));
  for (const { ad_account_id: account, unreached_since } of rows) {
    if (read.has(account) || unreached_since !== null) continue;
    read.set(account, await ads.accounts.read({ account, token, about }).catch(ifForbidden(null)));
  }
  return read;
}

const ifForbidden =
  <T>(instead: T) =>
  (error: unknown): T => {
    if (isForbidden(error)) return instead;
    throw error;
  };

async function recordAccounts(
  parts: CheckParts,
  { connection, token, rows, read }: Reading & { read: Read },
): Promise<Partial<Findings>> {
  const { db, log } = parts;
  const { id, client_id: client } = connection;
  const known = rows.flatMap((row) => {
    const account = read.get(row.ad_account_id);
    return account ? [{ row, facts: { id: row.id, ...toFacts(account) } }] : [];
  });
  const lost = rows.filter(({ ad_account_id }) => read.get(ad_account_id) === null).map((row) => row.id);
  const [synced, unreached] = await db.transaction(async (tx) => [
    await recordSync(
      tx,
      id,
      known.map(({ facts }) => facts),
    ),
    // They keep their state, but what happens to them is no more told to this client.
    await markUnreached(tx, id, lost),
  ]);
  for (const ad_account of unreached) log.warn("ad_account.unreached", { client, ad_account });
  const due = known.map(({ row }) => row).filter(isDue);
  const subscribed = await subscribeAll(parts, { connection, token, rows: due });
  return { updated: synced.changed, unreached: unreached.length, ...subscribed };
}

/** For which that failed when they were activated. */
const isDue = ({ status, subscribed_at }: AdAccountRow) => status === "active" && subscribed_at === null;

async function subscribeAll(
  { db, ads, log }: CheckParts,
  { connection, token, rows }: Reading,
): Promise<Partial<Findings>> {
  let subscribed = 0;
  for (const row of rows) {
    const access = { account: row.ad_account_id, token, about: { client: row.client_id } };
    const opened = { row: { ...row, connection_id: connection.id }, access };
    if (await subscribe({ db, accounts: ads.accounts, log }, opened)) subscribed += 1;
  }
  return { subscribed, not_subscribed: rows.length - subscribed };
}
