import { ApiError } from "../../runtime/errors.ts";
import type { AdAccountStatus } from "../../schema/enumerations.ts";
import {
  lockAdAccount,
  type RevokedRow,
  revokeAccounts,
  setAdAccountStatus,
  syncAccounts,
} from "../../store/ads/ad-account-changes.ts";
import type { AdAccountFacts, AdAccountRow } from "../../store/ads/ad-accounts.ts";
import { deleteConnections, findConnectionsSharingTokens } from "../../store/ads/ad-connections.ts";
import type { Queryable } from "../../store/database/database.ts";
import { type AuditActor, recordAudit } from "../../store/tenants/audit-log.ts";
import { recordEvents } from "../events/record-events.ts";
import { serviceActor } from "../tenants/service-actor.ts";
import { adAccountRevoked, adAccountUpdated } from "./ad-account-events.ts";
import { haveChanged } from "./ad-account-facts.ts";

/** What a client may make of its account. */
export const SETTABLE_STATUSES = ["active", "disabled"] as const satisfies readonly AdAccountStatus[];
export type SettableStatus = (typeof SETTABLE_STATUSES)[number];

type Transition = "goes" | "stays" | "invalid_state_transition" | "ad_account_revoked";

/** What becomes of an account in a state, by the state that is chosen. */
const TRANSITIONS: Readonly<Record<AdAccountStatus, Readonly<Record<SettableStatus, Transition>>>> = {
  available: { active: "goes", disabled: "invalid_state_transition" },
  active: { active: "stays", disabled: "goes" },
  disabled: { active: "goes", disabled: "stays" },
  revoked: { active: "ad_account_revoked", disabled: "ad_account_revoked" },
};

const REFUSALS = {
  invalid_state_transition: "An account that was never active cannot be disabled",
  ad_account_revoked: "The platform takes the account's token no more: connect it again",
} as const;

export const accountRevokedError = (): ApiError =>
  new ApiError("ad_account_revoked", REFUSALS.ad_account_revoked);

/** Undefined where the client has no such account; `changed`: whether it was in another state before. */
export async function changeAdAccountStatus(
  tx: Queryable,
  actor: AuditActor,
  { id, status }: { id: string; status: SettableStatus },
): Promise<{ row: AdAccountRow; changed: boolean } | undefined> {
  const { clientId } = actor;
  const former = await lockAdAccount(tx, clientId, id);
  if (!former) return undefined;
  const transition = TRANSITIONS[former.status as AdAccountStatus][status];
  if (transition === "stays") return { row: former, changed: false };
  if (transition !== "goes") throw new ApiError(transition, REFUSALS[transition]);
  const row = await setAdAccountStatus(tx, clientId, { id, status });
  const details = { ad_account_id: row.ad_account_id, from: former.status, to: status };
  await recordAudit(tx, actor, { action: "ad_account.status_changed", target: id, details });
  return { row, changed: true };
}

/** What was read of accounts with the token of a connection; its client hears of what has changed. */
export async function recordSync(
  tx: Queryable,
  connectionId: string,
  fetched: readonly (AdAccountFacts & { id: string })[],
): Promise<{ rows: AdAccountRow[]; changed: number }> {
  const rows = await syncAccounts(tx, connectionId, fetched);
  const changed = rows.filter((row) => haveChanged(row, row.former));
  await recordEvents(tx, changed.map(adAccountUpdated));
  return { rows, changed: changed.length };
}

/** The tokens of these connections are dead: they are erased, and whoever used one hears of each account, once. */
export async function revokeConnections(
  tx: Queryable,
  connectionIds: readonly string[],
): Promise<RevokedRow[]> {
  if (connectionIds.length === 0) return [];
  const ids = await findConnectionsSharingTokens(tx, connectionIds);
  const accounts = await revokeAccounts(tx, ids);
  await deleteConnections(tx, ids);
  await recordEvents(tx, accounts.map(adAccountRevoked));
  for (const { client_id, id: target, ad_account_id, previous_status } of accounts) {
    const details = { ad_account_id, previous_status, reason: "token_dead" };
    await recordAudit(tx, serviceActor(client_id), { action: "ad_account.revoked", target, details });
  }
  return accounts;
}
