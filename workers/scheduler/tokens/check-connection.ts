import { openConnectionToken } from "../../../src/dispatch/connection-token.ts";
import type { PlatformAdAccount } from "../../../src/platforms/ads/accounts.ts";
import { PlatformFailure } from "../../../src/platforms/errors/failure.ts";
import type { Platforms } from "../../../src/platforms/platforms.ts";
import type { Log } from "../../../src/runtime/log.ts";
import type { SecretBox } from "../../../src/security/secret-box.ts";
import { markUnreached } from "../../../src/store/ad-account-changes.ts";
import { type AdAccountRow, accountsOfConnection } from "../../../src/store/ad-accounts.ts";
import type { ConnectionRow } from "../../../src/store/ad-connections.ts";
import type { Database } from "../../../src/store/database.ts";
import { toFacts } from "../../../src/tenancy/ad-account-facts.ts";
import { subscribe } from "../../../src/tenancy/ad-account-subscription.ts";
import { recordSync, revokeConnections } from "../../../src/tenancy/ad-accounts.ts";
import { asAppTrouble } from "./app-trouble.ts";
import { watchExpiry } from "./warnings.ts";

export interface CheckParts {
  db: Database;
  secretBox: SecretBox;
  ads: Pick<Platforms["ads"], "tokens" | "accounts">;
  log: Log;
}

/** How many accounts it concerned. */
export interface Findings {
  revoked: number;
  updated: number;
  unreached: number;
  warned: number;
  subscribed: number;
}

const NOTHING: Findings = { revoked: 0, updated: 0, unreached: 0, warned: 0, subscribed: 0 };

/** Looks at the token of a connection, and with it at the connection's accounts. Throws what keeps the platform from telling. */
export async function checkConnection(parts: CheckParts, connection: ConnectionRow): Promise<Findings> {
  const { db, secretBox, ads, log } = parts;
  const { id, client_id: client } = connection;
  const token = openConnectionToken(secretBox, id, connection.token_sealed);
  const report = await ads.tokens.inspect(token).catch(asAppTrouble);
  const isDead = report.dead || (!report.valid && (await isDeadInUse(parts, token)));
  if (isDead) return { ...NOTHING, revoked: await revoke(db, id) };
  if (!report.valid) {
    log.warn("ad_connection.suspended", { client, connection: id, reason: report.reason });
    return NOTHING;
  }
  // Before the accounts, which may be closed to it: that it ends is true all the same.
  const warned = await watchExpiry(db, connection, report.expiresAt);
  return { ...NOTHING, warned, ...(await checkAccounts(parts, connection, token)) };
}

const revoke = (db: Database, id: string) => db.transaction((tx) => revokeConnections(tx, [id]));

const isDeath = (error: unknown) => error instanceof PlatformFailure && error.verdict === "token_dead";

/** A token that is called invalid without a word that it is dead: too little to erase it. What it is used for tells. */
const isDeadInUse = ({ ads }: CheckParts, token: string): Promise<boolean> =>
  ads.accounts.listAll(token).then(() => false, isDeath);

/** Reads the accounts anew. */
async function checkAccounts(
  parts: CheckParts,
  { id, client_id: client }: ConnectionRow,
  token: string,
): Promise<Partial<Findings>> {
  const { db, ads, log } = parts;
  let read: PlatformAdAccount[];
  try {
    read = await ads.accounts.listAll(token);
  } catch (error) {
    if (isDeath(error)) return { revoked: await revoke(db, id) }; // it may die between two questions
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
    updated: synced.filter(({ has_changed }) => has_changed).length,
    unreached: unreached.length,
    subscribed: await subscribeDue(parts, token, reached),
  };
}

/** What could not be subscribed when it was activated. */
async function subscribeDue(
  parts: CheckParts,
  token: string,
  rows: readonly AdAccountRow[],
): Promise<number> {
  const { db, ads, log } = parts;
  let subscribed = 0;
  for (const row of rows) {
    const { status, subscribed_at, connection_id, ad_account_id: account, client_id: client } = row;
    if (status !== "active" || subscribed_at !== null || connection_id === null) continue;
    const access = { account, token, about: { client } };
    if (await subscribe({ db, accounts: ads.accounts, log }, { row: { ...row, connection_id }, access }))
      subscribed += 1;
  }
  return subscribed;
}
