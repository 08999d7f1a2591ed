import type { AdAccountDto } from "../../schema/ad-accounts.ts";
import { AD_ACCOUNT_LABELS, type AdAccountStatus } from "../../schema/enumerations.ts";
import { toTimestamp } from "../../schema/timestamps.ts";
import type { AdAccountRow } from "../../store/ads/ad-accounts.ts";

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
  last_synced_at: toTimestamp(row.last_synced_at),
  created_at: toTimestamp(row.created_at),
});
