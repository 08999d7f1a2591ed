import type { AdAccess } from "../../platforms/ads/access.ts";
import type { AdAccounts } from "../../platforms/ads/accounts.ts";
import { isTokenDead, PlatformFailure, withDeadTokenCheck } from "../../platforms/errors/failure.ts";
import type { Log } from "../../runtime/log.ts";
import { openConnectionToken } from "../../security/sealed-tokens.ts";
import type { SecretBox } from "../../security/secret-box.ts";
import { markSubscribed } from "../../store/ads/ad-account-changes.ts";
import { type AdAccountRow, type AdAccountTokenRow, findAdAccount } from "../../store/ads/ad-accounts.ts";
import type { Database } from "../../store/database/database.ts";
import { aboutRequester, type Requester } from "../tenants/audit-actors.ts";
import { revokeConnections } from "./ad-accounts.ts";

/** An ad account that is not revoked, and what platform calls need to access it. */
export interface AdAccountAccess {
  row: AdAccountRow & { connection_id: string };
  access: AdAccess;
}

interface Parts {
  db: Database;
  secretBox: SecretBox;
}

export type OpenAdAccountOutcome =
  | { outcome: "opened"; account: AdAccountAccess }
  | { outcome: "not_found" }
  /** The account's token is dead. */
  | { outcome: "revoked" };

/** Opens the client's account with this id, Herald's or the platform's. */
export async function openAdAccount(
  { db, secretBox }: Parts,
  requester: Requester,
  id: string,
): Promise<OpenAdAccountOutcome> {
  return openRow(secretBox, requester, await findAdAccount(db, requester.clientId, id));
}

export type OpenActiveAdAccountOutcome =
  | OpenAdAccountOutcome
  /** Only active accounts may be used. */
  | { outcome: "not_active"; status: string };

/** Opens the client's active account with this platform id, which includes the `act_` prefix. */
export async function openActiveAdAccount(
  { db, secretBox }: Parts,
  requester: Requester,
  adAccountId: string,
): Promise<OpenActiveAdAccountOutcome> {
  const row = await findAdAccount(db, requester.clientId, adAccountId);
  const opened = openRow(secretBox, requester, row);
  if (opened.outcome !== "opened" || row?.status === "active") return opened;
  return { outcome: "not_active", status: opened.account.row.status };
}

function openRow(
  secretBox: SecretBox,
  requester: Requester,
  row: AdAccountTokenRow | undefined,
): OpenAdAccountOutcome {
  if (!row) return { outcome: "not_found" };
  const { connection_id, token_sealed } = row;
  if (connection_id === null || token_sealed === null) return { outcome: "revoked" };
  const token = openConnectionToken(secretBox, connection_id, token_sealed);
  const access = { account: row.ad_account_id, token, about: aboutRequester(requester) };
  return { outcome: "opened", account: { row: { ...row, connection_id }, access } };
}

interface CallParts {
  db: Database;
  log: Log;
}

/** Runs platform calls for the account. A dead token revokes every account that shares it. */
export const callForAccount = <T>(
  parts: CallParts,
  { row }: AdAccountAccess,
  call: () => Promise<T>,
): Promise<T> => withDeadTokenCheck(call, () => revokeDeadConnection(parts, row.connection_id));

/** For a call whose result several callers wait for: its statements do not end with the first of them. */
export const forAllCallers = (
  { log }: Pick<CallParts, "log">,
  { db, account }: { db: Database; account: AdAccountAccess },
): CallParts => ({ log, db: db.forKey(account.row.client_id) });

/** Revokes every account that shares the connection's dead token; returns how many. */
export async function revokeDeadConnection({ db, log }: CallParts, connectionId: string): Promise<number> {
  const accounts = await revokeConnections(db, [connectionId]);
  for (const { client_id: client, ad_account_id: ad_account, previous_status } of accounts)
    log.warn("ad_account.revoked", { client, ad_account, previous_status });
  return accounts.length;
}

/** Subscribes to the account's changes. False when the platform refuses; throws when the token is dead. */
export async function subscribe(
  { db, accounts, log }: CallParts & { accounts: AdAccounts },
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
