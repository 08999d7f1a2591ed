import { openConnectionToken } from "../../../src/dispatch/connection-token.ts";
import type { PlatformAdAccount } from "../../../src/platforms/ads/accounts.ts";
import { PlatformFailure } from "../../../src/platforms/errors/failure.ts";
import type { Platforms } from "../../../src/platforms/platforms.ts";
import type { Log } from "../../../src/runtime/log.ts";
import type { SecretBox } from "../../../src/security/secret-box.ts";
import { type AdAccountRow, accountsOfConnection } from "../../../src/store/ad-accounts.ts";
import type { ConnectionRow } from "../../../src/store/ad-connections.ts";
import type { Database, Queryable } from "../../../src/store/database.ts";
import { toFacts } from "../../../src/tenancy/ad-account-facts.ts";
import { subscribe } from "../../../src/tenancy/ad-account-subscription.ts";
import { recordSync, revokeConnections } from "../../../src/tenancy/ad-accounts.ts";
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
  warned: number;
  subscribed: number;
}

const NOTHING: Findings = { revoked: 0, updated: 0, warned: 0, subscribed: 0 };

/** Looks at the token of a connection, and with it at the connection's accounts. Throws what keeps the platform from telling. */
export async function checkConnection(parts: CheckParts, connection: ConnectionRow): Promise<Findings> {
  const { db, secretBox, ads, log } = parts;
  const { id, client_id: client } = connection;
  const token = openConnectionToken(secretBox, id, connection.token_sealed);
  const revoke = async () => ({
    ...NOTHING,
    revoked: await db.transaction((tx) => revokeConnections(tx, [id])),
  });
  const report = await ads.tokens.inspect(token).catch(pauseOr);
  if (report.dead) return revoke();
  if (!report.valid) {
    log.warn("ad_connection.suspended", { client, connection: id, reason: report.reason });
    return NOTHING;
  }
  // Before the accounts, which may be closed to it: that it ends is true all the same.
  const warned = await watchExpiry(db, connection, report.expiresAt);
  const read = await ads.accounts.listAll(token).catch(deadOr);
  if (read === "dead") return revoke();
  const rows = await accountsOfConnection(db, id);
  const updated = await db.transaction((tx) => updateAccounts(tx, id, { rows, read }));
  return { ...NOTHING, warned, updated, subscribed: await subscribeDue(parts, token, rows) };
}

/** The platform wants to be left alone by the whole app. */
export class PlatformPause extends Error {
  override name = "PlatformPause";
}

/** The question is the app's own. A throttle of any other concerns this connection alone. */
function pauseOr(error: unknown): never {
  if (!(error instanceof PlatformFailure && error.code === "platform_rate_limited")) throw error;
  throw new PlatformPause("the platform has asked for a pause", { cause: error });
}

/** A token may die between two questions. */
function deadOr(error: unknown): "dead" {
  if (error instanceof PlatformFailure && error.verdict === "token_dead") return "dead";
  throw error;
}

/** An account that the token does not reach any more is left as it was: the platform says so when it is used. */
async function updateAccounts(
  tx: Queryable,
  connectionId: string,
  { rows, read }: { rows: readonly AdAccountRow[]; read: readonly PlatformAdAccount[] },
): Promise<number> {
  const known = new Map(read.map((account) => [account.ad_account_id, account]));
  const given = rows.flatMap(({ id, ad_account_id }) => {
    const account = known.get(ad_account_id);
    return account ? [{ id, ...toFacts(account) }] : [];
  });
  const synced = await recordSync(tx, connectionId, given);
  return synced.filter(({ has_changed }) => has_changed).length;
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
