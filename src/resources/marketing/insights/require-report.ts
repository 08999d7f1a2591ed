import type { ReportRef } from "../../../domain/ads/read-insights-report.ts";
import type { Requester } from "../../../domain/tenants/request-actor.ts";
import { ApiError, invalidField } from "../../../http/api-error.ts";
import type { SecretBox } from "../../../security/secret-box.ts";
import { findReport } from "../../../store/ads/insights-reports.ts";
import type { Database } from "../../../store/database/database.ts";
import { requireActiveAdAccount } from "../require-ad-account.ts";

interface Parts {
  db: Database;
  secretBox: SecretBox;
}

interface RequestedReport {
  id: string;
  adAccountId: string | undefined;
}

/**
 * Finds the account of a report run. 400 for a run that this client did not start, unless the request names the account;
 * 404 for a run that another client started, or one of another account.
 */
export async function requireReport(
  parts: Parts,
  requester: Requester,
  { id, adAccountId }: RequestedReport,
): Promise<ReportRef> {
  const found = await findReport(parts.db, id);
  const report = found?.client_id === requester.clientId ? found : undefined;
  const requested = adAccountId ?? report?.ad_account_id;
  if (requested === undefined)
    throw invalidField(
      "/ad_account_id",
      "ad_account_id is required: your client did not start this report through the API",
    );
  const account = await requireActiveAdAccount(parts, requester, requested);
  if (found && (!report || report.ad_account_id !== requested))
    throw new ApiError("platform_object_not_found", "The ad account has no such report");
  return { db: parts.db, account, id, report };
}
