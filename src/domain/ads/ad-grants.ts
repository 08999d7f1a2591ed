import type { PlatformAdAccount } from "../../platforms/ads/accounts.ts";
import { newId, newUuid } from "../../runtime/ids.ts";
import { hashToken, sealConnectionToken } from "../../security/sealed-tokens.ts";
import type { SecretBox } from "../../security/secret-box.ts";
import { lockAdAccounts, reserveGrants, saveGrantedAccounts } from "../../store/ads/ad-account-changes.ts";
import type { AdAccountRow } from "../../store/ads/ad-accounts.ts";
import { deleteUnusedConnections, insertConnection } from "../../store/ads/ad-connections.ts";
import type { Database, Queryable } from "../../store/database/database.ts";
import { type AuditActor, recordAudit } from "../../store/tenants/audit-log.ts";
import { type EventDraft, recordEvents } from "../events/record-events.ts";
import {
  adAccountConnected,
  adAccountUpdated,
  applyStatusChange,
  haveChanged,
  toFacts,
} from "./ad-accounts.ts";

/** Ad accounts and token that a person has authorised in the ad platform's dialog. */
export interface Grant {
  /** The person's id at the platform. */
  platformUserId: string;
  token: string;
  /** Null when the token never expires. */
  expiresAt: Date | null;
  accounts: readonly PlatformAdAccount[];
}

interface Parts {
  db: Database;
  secretBox: SecretBox;
}

/**
 * Stores the grant and returns its accounts in the platform's order. All of them move to one new connection;
 * a former connection is deleted with its token once no account uses it.
 */
export const storeGrant = (
  { db, secretBox }: Parts,
  actor: AuditActor,
  grant: Grant,
): Promise<AdAccountRow[]> => db.transaction((tx) => writeGrant({ tx, secretBox }, actor, grant));

/**
 * Stores a first grant and activates its accounts in one transaction: after a crash they are active or
 * absent.
 */
export const storeActiveGrant = ({ db, secretBox }: Parts, actor: AuditActor, grant: Grant): Promise<void> =>
  db.transaction(async (tx) => {
    const accounts = await writeGrant({ tx, secretBox }, actor, grant);
    for (const { id } of accounts) {
      const { outcome } = await applyStatusChange(tx, actor, { id, status: "active" });
      if (outcome !== "set") throw new Error(`the ad account ${id} cannot be activated: ${outcome}`);
    }
  });

interface TransactionParts {
  tx: Queryable;
  secretBox: SecretBox;
}

async function writeGrant(parts: TransactionParts, actor: AuditActor, grant: Grant): Promise<AdAccountRow[]> {
  const { tx } = parts;
  const { clientId } = actor;
  // The platform may repeat an account on its next page.
  const granted = new Map(grant.accounts.map((account) => [account.ad_account_id, account]));
  if (granted.size === 0) return [];
  const ids = [...granted.keys()];
  await reserveGrants(tx, clientId);
  const former = indexByAccount(await lockAdAccounts(tx, clientId, ids));
  const connectionId = await storeConnection(parts, clientId, grant);
  // New ids are assigned in reverse: lists are newest first and thus show the platform's order too.
  const accounts = [...granted.values()].reverse().map(toGrantedAccount);
  const saved = indexByAccount(await saveGrantedAccounts(tx, clientId, { connectionId, accounts }));
  await deleteUnusedConnections(tx, clientId);
  const rows = ids.map((id) => saved.get(id) as AdAccountRow);
  await recordEvents(
    tx,
    rows.flatMap((row) => eventDraftsOf(row, former.get(row.ad_account_id))),
  );
  const details = { ad_account_ids: ids };
  await recordAudit(tx, actor, { action: "ad_accounts.connected", target: connectionId, details });
  return rows;
}

const indexByAccount = (rows: readonly AdAccountRow[]) =>
  new Map(rows.map((row) => [row.ad_account_id, row]));

async function storeConnection(
  { tx, secretBox }: TransactionParts,
  clientId: string,
  grant: Grant,
): Promise<string> {
  const { platformUserId, token, expiresAt } = grant;
  const id = newId("con");
  const tokenSealed = sealConnectionToken(secretBox, id, token);
  await insertConnection(tx, clientId, {
    id,
    platformUserId,
    tokenSealed,
    tokenHash: hashToken(token),
    expiresAt,
  });
  return id;
}

const toGrantedAccount = (account: PlatformAdAccount) => ({
  id: newUuid(),
  ad_account_id: account.ad_account_id,
  ...toFacts(account),
});

/** A new token alone records no event; changed facts do. */
function eventDraftsOf(row: AdAccountRow, former: AdAccountRow | undefined): EventDraft[] {
  if (!former || former.status === "revoked") return [adAccountConnected(row, former?.status)];
  return haveChanged(row, former) ? [adAccountUpdated(row)] : [];
}
