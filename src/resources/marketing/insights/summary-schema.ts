import { SUMMARY_PRESETS } from "../../../schema/ad-enumerations.ts";
import { nullable, object, oneOf, Type, text } from "../../../schema/types.ts";
import { adAccountId } from "../ad-object-fields.ts";
import { currency, day } from "./schema.ts";

export const summaryQuery = object({
  ad_account_id: adAccountId,
  date_preset: oneOf(SUMMARY_PRESETS, { description: "The period, in the account's time zone" }),
});

const dailyMetrics = {
  impressions: text("1200"),
  clicks: text("34"),
  spend: text("12.34", "In major units of the currency"),
};

const totals = object(
  {
    ...dailyMetrics,
    reach: text("900"),
    ctr: text("2.833333", "In percent"),
    cpc: text("0.362941"),
    cpm: text("10.283333"),
  },
  { title: "InsightsTotals", description: "`0` where nothing was delivered" },
);

const change = nullable(Type.Number({ examples: [0.12] }));

export const insightsSummary = object(
  {
    currency,
    since: day("The first day of the period"),
    until: day("The last day of the period"),
    totals,
    previous: totals,
    change: object(
      Object.fromEntries(Object.keys(totals.properties).map((metric) => [metric, change])) as Record<
        keyof typeof totals.properties,
        typeof change
      >,
      {
        title: "InsightsChange",
        description:
          "Change since the period of equal length before, as a fraction: 0.12 is 12 %. Null where the previous value is 0",
      },
    ),
    by_day: Type.Array(object({ date: day("The day"), ...dailyMetrics }), {
      description: "Every day of the period, the first one first",
    }),
  },
  { title: "InsightsSummaryDto" },
);
