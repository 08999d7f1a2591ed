import { DAY, MINUTE, SECOND } from "../../runtime/durations.ts";
import type { Fields } from "./body.ts";
import { asList, asObject, numberOf, parseObject } from "./json-values.ts";

type Headers = Readonly<Record<string, string | string[] | undefined>>;

/** Usage of a quota, as reported in the response headers. */
interface QuotaUsage {
  /** The account or business, without `act_`; the call's own asset when undefined. */
  asset?: string;
  useCase: string;
  percent: number;
  /** Milliseconds until the platform accepts calls again; 0 while it does. */
  retryAfterMs: number;
}

export interface Usage {
  /** Use of the app's quota, in percent. */
  app?: number;
  /** Use of the account's quota, in percent. */
  account?: number;
  /** Use of the most used business use case, in percent. */
  business?: number;
  quotas: QuotaUsage[];
}

/** Reads the usage headers and skips missing or malformed values: the headers are advisory. */
export function readUsage(headers: Headers): Usage {
  const app = highestOf(jsonHeader(headers, "x-app-usage"), ["call_count", "total_time", "total_cputime"]);
  const account = jsonHeader(headers, "x-ad-account-usage");
  const insights = jsonHeader(headers, "x-fb-ads-insights-throttle");
  const business = businessQuotas(jsonHeader(headers, "x-business-use-case-usage"));
  const accountPercent = numberOf(account.acc_id_util_pct) ?? numberOf(insights.acc_id_util_pct);
  return {
    ...(app === undefined ? {} : { app }),
    ...(accountPercent === undefined ? {} : { account: accountPercent }),
    ...(business.length === 0 ? {} : { business: Math.max(...business.map(({ percent }) => percent)) }),
    quotas: [...accountQuota(account), ...business],
  };
}

/**
 * Quota for managing the account; insights have a separate one. This header uses seconds, the business header
 * minutes.
 */
function accountQuota(account: Fields): QuotaUsage[] {
  const percent = numberOf(account.acc_id_util_pct);
  if (percent === undefined) return [];
  const reset = toWaitMs(account.reset_time_duration, SECOND);
  return [{ useCase: "ads_management", percent, retryAfterMs: percent >= 100 ? reset : 0 }];
}

function businessQuotas(header: Fields): QuotaUsage[] {
  return Object.entries(header).flatMap(([asset, entries]) =>
    asList(entries).flatMap((entry) => {
      const fields = asObject(entry);
      const percent = highestOf(fields, ["call_count", "total_cputime", "total_time"]);
      if (percent === undefined || typeof fields.type !== "string") return [];
      const retryAfterMs = toWaitMs(fields.estimated_time_to_regain_access, MINUTE);
      return [{ asset, useCase: fields.type, percent, retryAfterMs }];
    }),
  );
}

function jsonHeader(headers: Headers, name: string): Fields {
  const value = headers[name];
  return typeof value === "string" ? parseObject(value) : {};
}

/** Capped at a day so that a wrong value from the platform cannot block calls for longer. */
const toWaitMs = (value: unknown, unit: number): number => Math.min((numberOf(value) ?? 0) * unit, DAY);

function highestOf(fields: Fields, names: readonly string[]): number | undefined {
  const found = names.map((name) => numberOf(fields[name])).filter((value) => value !== undefined);
  return found.length === 0 ? undefined : Math.max(...found);
}
