import { listOf, listQuery } from "../../../http/lists.ts";
import {
  DATE_PRESETS,
  DEFAULT_INSIGHTS_FIELDS,
  INSIGHTS_LEVELS,
  SUMMARY_PRESETS,
  TIME_INCREMENTS,
} from "../../../schema/ad-enumerations.ts";
import {
  nullable,
  object,
  oneOf,
  openObject,
  optional,
  rule,
  type Static,
  Type,
  text,
} from "../../../schema/types.ts";
import { adAccountId, platformId } from "../ad-object-fields.ts";

const MAX_LIST_CHARS = 10_000;

/** Names separated by commas. */
const commaList = (example: string, description: string) =>
  Type.String({
    pattern: "[^,\\s]",
    maxLength: MAX_LIST_CHARS,
    examples: [example],
    description: `${description}, separated by commas`,
  });

const day = (description: string) =>
  Type.String({ format: "date", maxLength: 10, examples: ["2026-11-01"], description });

/** A text that the ad platform checks. */
const freeText = (examples: readonly string[], description: string) =>
  Type.String({ minLength: 1, maxLength: 100, examples, description });

const timeIncrement = freeText(
  TIME_INCREMENTS,
  "Length of the period of each row: a number of days, `monthly` or `all_days`. Without it, a row covers all days",
);

/** The fields that a query and a report have in common. */
const selection = {
  ad_account_id: adAccountId,
  ...optional({
    object_id: platformId("1100000000000201", "A campaign, ad set or ad; without it, the whole account"),
    level: oneOf(INSIGHTS_LEVELS, { description: "One row for each object of this level" }),
    fields: commaList(
      DEFAULT_INSIGHTS_FIELDS.join(),
      `Metrics and other fields of the rows (by default ${DEFAULT_INSIGHTS_FIELDS.join(", ")})`,
    ),
    date_preset: freeText(
      DATE_PRESETS,
      "A period, in the account's time zone; the ad platform checks it. Cannot be combined with `since` and `until`",
    ),
    since: day("The first day. Needs `until`"),
    until: day("The last day. Needs `since`"),
    breakdowns: commaList("age,gender", "Breakdowns of the rows"),
    action_breakdowns: commaList("action_type", "Breakdowns of the actions"),
    sort: commaList("spend_descending", "Order of the rows"),
  }),
};

const exclusivePeriods = rule("date_preset", "date_preset cannot be combined with since and until", {
  not: {
    anyOf: [{ required: ["date_preset", "since"] }, { required: ["date_preset", "until"] }],
  },
});

const completePeriod = (given: string, missing: string) =>
  rule(missing, `${given} requires ${missing}`, {
    anyOf: [{ not: { required: [given] } }, { required: [missing] }],
  });

const allOf = [exclusivePeriods, completePeriod("since", "until"), completePeriod("until", "since")];

const FILTERING_EXAMPLE = [{ field: "impressions", operator: "GREATER_THAN", value: 100 }];

export const MAX_ROWS_PER_PAGE = 500;
export const DEFAULT_ROWS_PER_PAGE = 25;

/** Not filled in by default: a request for CSV must not have it. */
const limit = Type.Optional(
  Type.Integer({
    minimum: 1,
    maximum: MAX_ROWS_PER_PAGE,
    description: `Maximum number of rows per page (by default ${DEFAULT_ROWS_PER_PAGE})`,
  }),
);

const pagingQuery = { ...listQuery({}).properties, limit };

export const insightsQuery = object(
  {
    ...selection,
    time_increment: Type.Optional(timeIncrement),
    filtering: Type.Optional(
      Type.String({
        maxLength: MAX_LIST_CHARS,
        examples: [JSON.stringify(FILTERING_EXAMPLE)],
        description: "Conditions on the rows, as the JSON text of a list",
      }),
    ),
    ...pagingQuery,
  },
  { allOf },
);

export type InsightsQueryDto = Static<typeof insightsQuery>;

export const newReport = object(
  {
    ...selection,
    time_increment: Type.Optional(Type.Union([timeIncrement, Type.Integer({ minimum: 1, examples: [1] })])),
    filtering: Type.Optional(
      Type.Array(openObject({}), {
        maxItems: 1_000,
        examples: [FILTERING_EXAMPLE],
        description: "Conditions on the rows",
      }),
    ),
  },
  {
    title: "CreateInsightsReportDto",
    allOf,
    examples: [
      {
        ad_account_id: "act_1600000000000101",
        level: "campaign",
        fields: "campaign_name,impressions,clicks,spend",
        date_preset: "last_30d",
        time_increment: "1",
      },
    ],
  },
);

export type NewReportDto = Static<typeof newReport>;

const row = openObject(
  {},
  {
    title: "InsightsRow",
    description:
      "A row as the ad platform returns it. Metrics are texts; money is in major units of the account's currency (12.34), unlike budgets",
    examples: [
      {
        impressions: "1200",
        clicks: "34",
        spend: "12.34",
        reach: "900",
        frequency: "1.333333",
        cpc: "0.362941",
        cpm: "10.283333",
        ctr: "2.833333",
        actions: [{ action_type: "link_click", value: "30" }],
        date_start: "2026-09-01",
        date_stop: "2026-09-30",
      },
    ],
  },
);

const currency = text("BRL", "The account's currency");

export const insightsRows = listOf(row, { currency });

export const reportParams = object({
  reportRunId: platformId("6023920149050", "The id of the report run"),
});

const reportAccount = Type.Optional({
  ...adAccountId,
  description: "Required for a report that your client did not start through this API",
});

export const reportQuery = object({ ad_account_id: reportAccount });
export const resultsQuery = object({ ad_account_id: reportAccount, ...pagingQuery });

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
