import { minorUnitsPerMajor } from "../currencies.ts";
import type { Totals } from "./totals.ts";

export interface Measure extends Totals {
  currency: string;
  /** Attribution windows such as `7d_click`, each shown per action. */
  windows: readonly string[];
}

const spendInMajorUnits = ({ spend, currency }: Measure) => spend / minorUnitsPerMajor(currency);

const ratio = (part: number, whole: number) => (whole === 0 ? undefined : (part / whole).toFixed(6));

const actionsOf = ({ clicks, linkClicks }: Measure) =>
  Object.entries({ link_click: linkClicks, page_engagement: clicks, post_engagement: clicks }).filter(
    ([, count]) => count > 0,
  );

/** Metrics as text, amounts in the currency's major unit. A metric without a value is omitted. */
export const METRICS: Readonly<Record<string, (measure: Measure) => unknown>> = {
  impressions: ({ impressions }) => String(impressions),
  reach: ({ reach }) => String(reach),
  clicks: ({ clicks }) => String(clicks),
  unique_clicks: ({ clicks }) => String(clicks),
  inline_link_clicks: ({ linkClicks }) => String(linkClicks),
  spend: (measure) => spendInMajorUnits(measure).toFixed(minorUnitsPerMajor(measure.currency) === 1 ? 0 : 2),
  frequency: ({ impressions, reach }) => ratio(impressions, reach),
  ctr: ({ clicks, impressions }) => ratio(clicks * 100, impressions),
  unique_ctr: ({ clicks, reach }) => ratio(clicks * 100, reach),
  inline_link_click_ctr: ({ linkClicks, impressions }) => ratio(linkClicks * 100, impressions),
  cpc: (measure) => ratio(spendInMajorUnits(measure), measure.clicks),
  cpm: (measure) => ratio(spendInMajorUnits(measure) * 1000, measure.impressions),
  cpp: (measure) => ratio(spendInMajorUnits(measure) * 1000, measure.reach),
  cost_per_inline_link_click: (measure) => ratio(spendInMajorUnits(measure), measure.linkClicks),
  actions: (measure) => toActions(measure, (count) => String(count)),
  results: ({ linkClicks }) => toResults(String(linkClicks)),
  cost_per_result: (measure) => toResults(ratio(spendInMajorUnits(measure), measure.linkClicks)),
  cost_per_action_type: (measure) => toActions(measure, (count) => ratio(spendInMajorUnits(measure), count)),
};

/** Every campaign is optimised for link clicks here. A result without a value has only its indicator. */
const toResults = (value: string | undefined): unknown => [
  {
    indicator: "actions:link_click",
    ...(value === undefined ? {} : { values: [{ value, attribution_windows: ["default"] }] }),
  },
];

function toActions(measure: Measure, value: (count: number) => string | undefined): unknown {
  const actions = actionsOf(measure).map(([action_type, count]) => ({
    action_type,
    value: value(count),
    ...Object.fromEntries(measure.windows.map((window) => [window, value(count)])),
  }));
  return actions.length === 0 ? undefined : actions;
}

/** Metrics that are accepted and never have a value here. */
export const EMPTY_METRICS: readonly string[] = [
  "action_values",
  "conversion_values",
  "conversions",
  "cost_per_conversion",
  "cost_per_thruplay",
  "cost_per_unique_click",
  "engagement_rate_ranking",
  "estimated_ad_recallers",
  "inline_post_engagement",
  "mobile_app_purchase_roas",
  "outbound_clicks",
  "purchase_roas",
  "quality_ranking",
  "social_spend",
  "unique_actions",
  "unique_inline_link_clicks",
  "video_avg_time_watched_actions",
  "video_p100_watched_actions",
  "video_p25_watched_actions",
  "video_p50_watched_actions",
  "video_p75_watched_actions",
  "video_play_actions",
  "video_thruplay_watched_actions",
  "website_purchase_roas",
];
