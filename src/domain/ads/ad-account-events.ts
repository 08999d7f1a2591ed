import type { RevokedRow } from "../../store/ads/ad-account-changes.ts";
import type { AdAccountRow } from "../../store/ads/ad-accounts.ts";
import type { EventDraft } from "../events/record-events.ts";
import { toAdAccount } from "./ad-account-dto.ts";

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

export const adAccountRevoked = ({ previous_status, ...account }: RevokedRow): EventDraft =>
  toDraft("ad_account.revoked", account, { previous_status });

export const adAccountTokenExpiring = (
  account: AdAccountRow,
  { expiresAt, daysLeft }: { expiresAt: Date; daysLeft: number },
): EventDraft =>
  toDraft("ad_account.token_expiring", account, { expires_at: expiresAt.toISOString(), days_left: daysLeft });
