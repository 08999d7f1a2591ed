import type { AdAccountRow } from "../store/ad-accounts.ts";
import { toAdAccount } from "./ad-account-dto.ts";
import type { EventDraft } from "./record-events.ts";

export const adAccountRevoked = ({
  previous_status,
  ...account
}: AdAccountRow & { previous_status: string }): EventDraft => ({
  clientId: account.client_id,
  type: "ad_account.revoked",
  key: "marketing",
  adAccountId: account.ad_account_id,
  data: { ad_account: toAdAccount(account), previous_status },
});
