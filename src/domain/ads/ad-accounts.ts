import type { PlatformAdAccount } from "../../platforms/ads/accounts.ts";
import { runInBatches } from "../../runtime/async/iteration.ts";
import type { AdAccountDto } from "../../schema/ads.ts";
import { AD_ACCOUNT_LABELS, type AdAccountStatus } from "../../schema/enumerations.ts";
import { toStorable } from "../../schema/storable.ts";
import { toTimestamp } from "../../schema/times.ts";
import {
  lockAdAccount,
  markUnreachable,
  type RevokedRow,
  revokeAccounts,
  setAdAccountStatus,
  syncAccounts,
} from "../../store/ads/ad-account-changes.ts";
import { AD_ACCOUNT_FACTS, type AdAccountFacts, type AdAccountRow } from "../../store/ads/ad-accounts.ts";
import { deleteConnections, findConnectionsSharingTokens } from "../../store/ads/ad-connections.ts";
import type { Database, Queryable } from "../../store/database/database.ts";
import { type AuditActor, recordAudit, recordAuditOfClients } from "../../store/tenants/audit-log.ts";
import { type EventDraft, recordEvents } from "../events/record-events.ts";
import { SERVICE } from "../tenants/audit-actors.ts";

/**
 * Statuses of an ad account:
 *
 * available: granted, but not in use; the client activates it.
 * active: in use; the client disables it.
 * disabled: no longer in use; the client activates it again.
 * revoked: its token is dead, which a call, the token check or the person's deauthorisation found out; a new grant makes it
 * available.
 */

/** Statuses that a client may set. */
export const SETTABLE_STATUSES = ["active", "disabled"] as const satisfies readonly AdAccountStatus[];
export type SettableStatus = (typeof SETTABLE_STATUSES)[number];

type Transition = "goes" | "stays" | "never_active" | "revoked";

/** Effect of setting a status, by the current status. */
const TRANSITIONS: Readonly<Record<AdAccountStatus, Readonly<Record<SettableStatus, Transition>>>> = {
  available: { active: "goes", disabled: "never_active" },
  active: { active: "stays", disabled: "goes" },
  disabled: { active: "goes", disabled: "stays" },
  revoked: { active: "revoked", disabled: "revoked" },
};

export type StatusChangeOutcome =
  /** `changed`: false when the account already had the status. */
  | { outcome: "set"; row: AdAccountRow; changed: boolean }
  | { outcome: "not_found" }
  /** An account that was never active cannot be disabled. */
  | { outcome: "never_active" }
  | { outcome: "revoked" };

interface StatusChange {
  /** Herald's id or the platform's. */
  id: string;
  status: SettableStatus;
}

export const changeAdAccountStatus = (
  db: Database,
  actor: AuditActor,
  change: StatusChange,
): Promise<StatusChangeOutcome> => db.transaction((tx) => applyStatusChange(tx, actor, change));

/** Runs in the transaction of changeAdAccountStatus or storeActiveGrant. */
export async function applyStatusChange(
  tx: Queryable,
  actor: AuditActor,
  change: StatusChange,
): Promise<StatusChangeOutcome> {
  const { clientId } = actor;
  const former = await lockAdAccount(tx, clientId, change.id);
  if (!former) return { outcome: "not_found" };
  const [id, { status }] = [former.id, change];
  const transition = TRANSITIONS[former.status as AdAccountStatus][status];
  if (transition === "stays") return { outcome: "set", row: former, changed: false };
  if (transition !== "goes") return { outcome: transition };
  const row = await setAdAccountStatus(tx, clientId, { id, status });
  const details = { ad_account_id: row.ad_account_id, from: former.status, to: status };
  await recordAudit(tx, actor, { action: "ad_account.status_changed", target: id, details });
  return { outcome: "set", row, changed: true };
}

/** Accounts read with a connection's token. */
interface SyncInput {
  fetched: readonly (AdAccountFacts & { id: string })[];
  /** Accounts that the platform no longer shows to this token. */
  unreachableIds: readonly string[];
}

interface SyncResult {
  rows: AdAccountRow[];
  /** Number of fetched accounts that have changed. */
  changed: number;
  /** Platform ids of accounts that were reachable until now. */
  unreachable: string[];
}

/** Stores what was read with a connection's token and records an event for each account that changed. */
export function recordSync(
  db: Database,
  connectionId: string,
  { fetched, unreachableIds }: SyncInput,
): Promise<SyncResult> {
  return db.transaction(async (tx) => {
    const rows = await syncAccounts(tx, connectionId, fetched);
    const changed = rows.filter((row) => haveChanged(row, row.former));
    await recordEvents(tx, changed.map(adAccountUpdated));
    // Unreachable accounts keep their status, but their events are no longer recorded for this client.
    const unreachable =
      unreachableIds.length > 0 ? await markUnreachable(tx, connectionId, unreachableIds) : [];
    return { rows, changed: changed.length, unreachable };
  });
}

/** Each transaction revokes this many accounts at most, so that none holds rows for long. */
const MAX_BATCH_ROWS = 1_000;

/**
 * Revokes the accounts of connections whose tokens are dead, with one event each, and deletes the connections and all others
 * with the same tokens. After a crash the next call, or the next token check, continues.
 */
export async function revokeConnections(
  db: Database,
  connectionIds: readonly string[],
): Promise<RevokedRow[]> {
  const revoked: RevokedRow[] = [];
  for (let index = 0; index < connectionIds.length; index += MAX_BATCH_ROWS) {
    const ids = await findConnectionsSharingTokens(db, connectionIds.slice(index, index + MAX_BATCH_ROWS));
    await runInBatches(MAX_BATCH_ROWS, async (limit) => {
      const accounts = await db.transaction((tx) => revokeBatch(tx, ids, limit));
      revoked.push(...accounts);
      return accounts.length;
    });
  }
  return revoked;
}

async function revokeBatch(
  tx: Queryable,
  connectionIds: readonly string[],
  limit: number,
): Promise<RevokedRow[]> {
  const accounts = await revokeAccounts(tx, connectionIds, limit);
  if (accounts.length < limit) await deleteConnections(tx, connectionIds);
  await recordEvents(tx, accounts.map(adAccountRevoked));
  await recordAuditOfClients(tx, SERVICE, {
    action: "ad_account.revoked",
    entries: accounts.map(({ client_id, id, ad_account_id, previous_status }) => ({
      clientId: client_id,
      target: id,
      details: { ad_account_id, previous_status, reason: "token_dead" },
    })),
  });
  return accounts;
}

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

type AdAccountEventType =
  | "ad_account.connected"
  | "ad_account.updated"
  | "ad_account.revoked"
  | "ad_account.token_expiring";

const toDraft = (type: AdAccountEventType, account: AdAccountRow, more: object = {}): EventDraft => ({
  clientId: account.client_id,
  type,
  key: "marketing",
  adAccountId: account.ad_account_id,
  data: { ad_account: toAdAccount(account), ...more },
});

/** The first connection, or the first after a revocation. */
export const adAccountConnected = (account: AdAccountRow, previous_status?: string): EventDraft =>
  toDraft("ad_account.connected", account, previous_status === undefined ? {} : { previous_status });

/** The platform reports other facts than before. */
export const adAccountUpdated = (account: AdAccountRow): EventDraft => toDraft("ad_account.updated", account);

const adAccountRevoked = ({ previous_status, ...account }: RevokedRow): EventDraft =>
  toDraft("ad_account.revoked", account, { previous_status });

export const adAccountTokenExpiring = (
  account: AdAccountRow,
  { expiresAt, daysLeft }: { expiresAt: Date; daysLeft: number },
): EventDraft =>
  toDraft("ad_account.token_expiring", account, { expires_at: expiresAt.toISOString(), days_left: daysLeft });

const labelOf = (status: number): AdAccountDto["account_status_label"] =>
  AD_ACCOUNT_LABELS[status as keyof typeof AD_ACCOUNT_LABELS] ?? "unknown";

/** An ad account as responses and events show it. */
export const toAdAccount = (row: AdAccountRow): AdAccountDto => ({
  id: row.id,
  ad_account_id: row.ad_account_id,
  account_id: row.ad_account_id.replace(/^act_/, ""),
  name: row.name,
  currency: row.currency,
  timezone_name: row.timezone_name,
  account_status: row.account_status,
  account_status_label: labelOf(row.account_status),
  ...(row.business_id === null ? {} : { business_id: row.business_id }),
  ...(row.business_name === null ? {} : { business_name: row.business_name }),
  status: row.status as AdAccountStatus,
  token_expires_at: toTimestamp(row.token_expires_at),
  last_synced_at: toTimestamp(row.last_synced_at),
  created_at: toTimestamp(row.created_at),
});
