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
import { deleteConnections, sharingTokens } from "../../store/ads/ad-connections.ts";
import type { Queryable } from "../../store/database/database.ts";
import { type Deed, recordAudit } from "../../store/tenants/audit-log.ts";
import { recordEvents } from "../events/record-events.ts";
import { serviceDeed } from "../tenants/service-actor.ts";
import { adAccountRevoked, adAccountUpdated } from "./ad-account-events.ts";
import { haveChanged } from "./ad-account-facts.ts";

/** What a client may make of its account. */
export const CHOSEN_STATUSES = ["active", "disabled"] as const satisfies readonly AdAccountStatus[];
export type ChosenStatus = (typeof CHOSEN_STATUSES)[number];

type Move = "goes" | "stays" | "invalid_state_transition" | "ad_account_revoked";

/** What becomes of an account in a state, by the state that is chosen. */
const MOVES: Readonly<Record<AdAccountStatus, Readonly<Record<ChosenStatus, Move>>>> = {
  available: { active: "goes", disabled: "invalid_state_transition" },
  active: { active: "stays", disabled: "goes" },
  disabled: { active: "goes", disabled: "stays" },
  revoked: { active: "ad_account_revoked", disabled: "ad_account_revoked" },
};

const REFUSALS = {
  invalid_state_transition: "An account that was never active cannot be disabled",
  ad_account_revoked: "The platform takes the account's token no more: connect it again",
} as const;

export const accountRevoked = (): ApiError => new ApiError("ad_account_revoked", REFUSALS.ad_account_revoked);

/** Undefined where the client has no such account; `moved`: whether it was in another state before. */
export async function chooseStatus(
  tx: Queryable,
  deed: Deed,
  { id, status }: { id: string; status: ChosenStatus },
): Promise<{ row: AdAccountRow; moved: boolean } | undefined> {
  const { clientId } = deed.caller;
  const former = await lockAdAccount(tx, clientId, id);
  if (!former) return undefined;
  const move = MOVES[former.status as AdAccountStatus][status];
  if (move === "stays") return { row: former, moved: false };
  if (move !== "goes") throw new ApiError(move, REFUSALS[move]);
  const row = await setAdAccountStatus(tx, clientId, { id, status });
  const details = { ad_account_id: row.ad_account_id, from: former.status, to: status };
  await recordAudit(tx, deed, { action: "ad_account.status_changed", target: id, details });
  return { row, moved: true };
}

/** What was read of accounts with the token of a connection; its client hears of what has changed. */
export async function recordSync(
  tx: Queryable,
  connectionId: string,
  read: readonly (AdAccountFacts & { id: string })[],
): Promise<{ rows: AdAccountRow[]; changed: number }> {
  const rows = await syncAccounts(tx, connectionId, read);
  const changed = rows.filter((row) => haveChanged(row, row.former));
  await recordEvents(tx, changed.map(adAccountUpdated));
  return { rows, changed: changed.length };
}

/** The tokens of these connections are dead: they are erased, and whoever used one hears of each account, once. */
export async function revokeConnections(tx: Queryable, dead: readonly string[]): Promise<RevokedRow[]> {
  if (dead.length === 0) return [];
  const ids = await sharingTokens(tx, dead);
  const accounts = await revokeAccounts(tx, ids);
  await deleteConnections(tx, ids);
  await recordEvents(tx, accounts.map(adAccountRevoked));
  for (const { client_id, id: target, ad_account_id, previous_status } of accounts) {
    const details = { ad_account_id, previous_status, reason: "token_dead" };
    await recordAudit(tx, serviceDeed(client_id), { action: "ad_account.revoked", target, details });
  }
  return accounts;
}
