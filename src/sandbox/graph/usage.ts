import { GraphError } from "./graph-error.ts";
import { Reply, type UsageKind } from "./node.ts";

interface Load {
  /** Used share of the quota, 0 to 100. */
  percent: number;
  /** Minutes until a throttled caller regains access. */
  regainMinutes?: number;
  /** Seconds until access is regained; only sent for an ad account. */
  resetSeconds?: number;
}

const ACCESS_TIER = "development_access";
const DEFAULT_LOAD: Load = { percent: 2 };

/** Builds the headers with a quota's usage; `asset` is the account or business, without `act_`. */
export function usageHeaders(
  kind: UsageKind | undefined,
  asset: string,
  load: Load = DEFAULT_LOAD,
): Record<string, string> {
  const { percent, regainMinutes = 0, resetSeconds = regainMinutes * 60 } = load;
  const headers: Record<string, unknown> = {
    // When the asset has its own quota, that quota is exhausted and the app's stays below 100.
    "x-app-usage": { call_count: kind ? Math.min(percent, 99) : percent, total_time: 1, total_cputime: 1 },
  };
  if (kind === undefined) return toHeaderValues(headers);
  headers["x-business-use-case-usage"] = {
    [asset]: [
      {
        type: kind,
        call_count: percent,
        total_cputime: 1,
        total_time: 1,
        estimated_time_to_regain_access: regainMinutes,
        ...(kind.startsWith("ads_") ? { ads_api_access_tier: ACCESS_TIER } : {}),
      },
    ],
  };
  if (kind === "ads_management")
    headers["x-ad-account-usage"] = {
      acc_id_util_pct: percent,
      reset_time_duration: resetSeconds,
      ads_api_access_tier: ACCESS_TIER,
    };
  if (kind === "ads_insights")
    headers["x-fb-ads-insights-throttle"] = {
      app_id_util_pct: percent / 2,
      acc_id_util_pct: percent,
      ads_api_access_tier: ACCESS_TIER,
    };
  return toHeaderValues(headers);
}

const toHeaderValues = (headers: Record<string, unknown>): Record<string, string> =>
  Object.fromEntries(Object.entries(headers).map(([name, value]) => [name, JSON.stringify(value)]));

/** Adds the usage headers to replies and errors. Headers that are already set win. */
export async function withUsageHeaders(usage: Record<string, string>, answer: () => unknown): Promise<Reply> {
  try {
    const result = await answer();
    const { body, status, headers } = result instanceof Reply ? result : new Reply(result);
    return new Reply(body, { status, headers: { ...usage, ...headers } });
  } catch (error) {
    throw error instanceof GraphError ? error.withHeaders(usage) : error;
  }
}
