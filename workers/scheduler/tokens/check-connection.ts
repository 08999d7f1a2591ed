import { openConnectionToken } from "../../../src/dispatch/connection-token.ts";
import type { PlatformAdAccount } from "../../../src/platforms/ads/accounts.ts";
import { isTokenDead } from "../../../src/platforms/errors/failure.ts";
import type { Platforms } from "../../../src/platforms/platforms.ts";
import type { Fields, Log } from "../../../src/runtime/log.ts";
import type { SecretBox } from "../../../src/security/secret-box.ts";
import { markUnreached } from "../../../src/store/ad-account-changes.ts";
import { type AdAccountRow, accountsOfConnection } from "../../../src/store/ad-accounts.ts";
import type { ConnectionRow } from "../../../src/store/ad-connections.ts";
import type { Database } from "../../../src/store/database.ts";
import { endConnection } from "../../../src/tenancy/ad-account-access.ts";
import { toFacts } from "../../../src/tenancy/ad-account-facts.ts";
import { subscribe } from "../../../src/tenancy/ad-account-subscription.ts";
import { recordSync } from "../../../src/tenancy/ad-accounts.ts";
import { asAppTrouble } from "./app-trouble.ts";
import { watchExpiry } from "./warnings.ts";

export interface CheckParts {
  db: Database;
  secretBox: SecretBox;
  ads: Pick<Platforms["ads"], "tokens" | "accounts">;
  log: Log;
  now(): number;
}

export const NOTHING = {
  /** Tokens that wait for their person to do something at the platform. */
  suspended: 0,
  /** The rest are accounts. */
  revoked: 0,
  updated: 0,
  unreached: 0,
  warned: 0,
  subscribed: 0,
  not_subscribed: 0,
};

/** How many it concerned. */
export type Findings = typeof NOTHING;

/** Looks at the token of a connection, and with it at the connection's accounts. Throws what keeps the platform from telling. */
export async function checkConnection(parts: CheckParts, connection: ConnectionRow): Promise<Findings> {
  const { secretBox, ads, log } = parts;
  const { id, client_id: client } = connection;
  const token = openConnectionToken(secretBox, id, connection.token_sealed);
  const about = { client, connection: id };
  const report = await ads.tokens.inspect(token, about).catch(asAppTrouble);
  const isDead = report.dead || (!report.valid && (await isDeadInUse(parts, token, about)));
  if (isDead) return { ...NOTHING, revoked: await endConnection(parts, id) };
  if (!report.valid) {
    log.warn("ad_connection.suspended", { ...about, reason: report.reason });
    return { ...NOTHING, suspended: 1 };
  }
  // Before the accounts, which may be closed to it: that it ends is true all the same.
  const warned = await watchExpiry(parts, connection, report.expiresAt);
  return { ...NOTHING, warned, ...(await checkAccounts(parts, connection, token)) };
}

/** A token that is called invalid without a word that it is dead: too little to erase it. What it is used for tells. */
const isDeadInUse = ({ ads }: CheckParts, token: string, about: Fields): Promise<boolean> =>
  ads.accounts.listAll(token, about).then(() => false, isTokenDead);

/** Reads the accounts anew. */
async function checkAccounts(
  parts: CheckParts,
  { id, client_id: client }: ConnectionRow,
  token: string,
): Promise<Partial<Findings>> {
  const { db, ads, log } = parts;
  let read: PlatformAdAccount[];
  try {
    read = await ads.accounts.listAll(token, { client, connection: id });
  } catch (error) {
    if (isTokenDead(error)) return { revoked: await endConnection(parts, id) }; // it may die between two questions
    throw error;
  }
  const known = new Map(read.map((account) => [account.ad_account_id, account]));
  const rows = await accountsOfConnection(db, id);
  const reached = rows.filter(({ ad_account_id }) => known.has(ad_account_id));
  const facts = reached.map((row) => ({
    id: row.id,
    ...toFacts(known.get(row.ad_account_id) as PlatformAdAccount),
  }));
  const missing = rows.filter((row) => !reached.includes(row)).map((row) => row.id);
  const [synced, unreached] = await db.transaction(async (tx) => [
    await recordSync(tx, id, facts),
    // They keep their state, but what happens to them is no more told to this client.
    await markUnreached(tx, id, missing),
  ]);
  for (const ad_account of unreached) log.warn("ad_account.unreached", { client, ad_account });
  return {
    updated: synced.changed,
    unreached: unreached.length,
    ...(await subscribeDue(parts, token, reached)),
  };
}

/** Asks again for the events of those for which that failed when they were activated. */
async function subscribeDue(
  { db, ads, log }: CheckParts,
  token: string,
  rows: readonly AdAccountRow[],
): Promise<Partial<Findings>> {
  const due = rows.filter(({ status, subscribed_at }) => status === "active" && subscribed_at === null);
  let subscribed = 0;
  for (const row of due) {
    const { connection_id, ad_account_id: account, client_id: client } = row;
    const access = { account, token, about: { client } };
    const opened = { row: { ...row, connection_id: connection_id as string }, access };
    if (await subscribe({ db, accounts: ads.accounts, log }, opened)) subscribed += 1;
  }
  return { subscribed, not_subscribed: due.length - subscribed };
}
