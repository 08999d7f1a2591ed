import { createHash } from "node:crypto";
import { type Day, type DayRange, daysOf } from "../../../runtime/days.ts";
import { invalidParameter } from "../../graph/graph-error.ts";
import { plainText } from "../../graph/params.ts";
import { minorUnitsPerMajor } from "../budgets-and-spend-cap.ts";
import type { Condition } from "../read-and-filter.ts";
import { FIELDS_WITHOUT_VALUES } from "./names.ts";

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

/** The base counts from which all metrics are derived. */
interface Totals {
  impressions: number;
  reach: number;
  clicks: number;
  linkClicks: number;
  /** In the smallest unit of the currency. */
  spend: number;
}

const ZERO_TOTALS: Totals = { impressions: 0, reach: 0, clicks: 0, linkClicks: 0, spend: 0 };

/** Returns four numbers from 0 to 1 that depend only on the text. */
function pseudoRandomOf(text: string): [number, number, number, number] {
  const bytes = createHash("md5").update(text).digest();
  const at = (index: number) => bytes.readUInt32BE(index) / 2 ** 32;
  return [at(0), at(4), at(8), at(12)];
}

function totalsOnDay(id: string, day: Day): Totals {
  const [volume, reached, clicked, price] = pseudoRandomOf(`${id} ${day}`);
  const impressions = 400 + Math.floor(volume * 1600);
  const clicks = Math.ceil(impressions * (0.01 + clicked * 0.04));
  return {
    impressions,
    reach: Math.ceil(impressions * (0.6 + reached * 0.3)),
    clicks,
    linkClicks: Math.ceil(clicks * 0.8),
    spend: Math.ceil(impressions * (0.5 + price)),
  };
}

const combineTotals = (one: Totals, other: Totals, combine: (a: number, b: number) => number): Totals => ({
  impressions: combine(one.impressions, other.impressions),
  reach: combine(one.reach, other.reach),
  clicks: combine(one.clicks, other.clicks),
  linkClicks: combine(one.linkClicks, other.linkClicks),
  spend: combine(one.spend, other.spend),
});

/** Deterministic per object and day, so that the days of a range add up to its total. */
export const totalsInRange = (id: string, range: DayRange): Totals =>
  daysOf(range)
    .map((day) => totalsOnDay(id, day))
    .reduce((sum, day) => combineTotals(sum, day, (a, b) => a + b), ZERO_TOTALS);

/** Returns one breakdown cell's share of the total; all shares add up to the total. */
export function shareOf(whole: Totals, part: number, parts: number): Totals {
  const cumulativeShare = (count: number) =>
    combineTotals(whole, ZERO_TOTALS, (total) =>
      Math.floor((total * count * (count + 1)) / (parts * (parts + 1))),
    );
  return combineTotals(cumulativeShare(part + 1), cumulativeShare(part), (a, b) => a - b);
}

interface Order {
  metric: string;
  /** 1 ascending, -1 descending. */
  direction: 1 | -1;
}

/** Filters and sort order by metrics. */
export interface Arrangement {
  conditions: readonly Condition[];
  order: readonly Order[];
}

/** True for a field by which rows can be filtered and sorted. One without values counts as zero. */
export const isMetric = (field: string): boolean =>
  Object.hasOwn(METRICS, field) || FIELDS_WITHOUT_VALUES.includes(field);

/** Parses a sort order such as `spend_descending`. */
export function readOrder(given: unknown): Order {
  const word = plainText(given);
  const [, metric = "", direction] = /^(\w+)_(ascending|descending)$/.exec(word) ?? [];
  if (!isMetric(metric)) throw invalidParameter(`Param sort does not support ${word}`);
  return { metric, direction: direction === "descending" ? -1 : 1 };
}

const countOf = (measure: Measure, metric: string) => Number(METRICS[metric]?.(measure) ?? 0);

/** Filters and sorts the rows. Computes metrics only when a condition or an order needs them. */
export function arrangeRows<R>(
  rows: readonly R[],
  { conditions, order }: Arrangement,
  measure: (row: R) => Measure,
): readonly R[] {
  if (conditions.length + order.length === 0) return rows;
  return rows
    .map((row) => ({ row, counted: measure(row) }))
    .filter(({ counted }) => conditions.every(({ field, matches }) => matches(countOf(counted, field))))
    .sort((one, other) => compareMeasures(one.counted, other.counted, order))
    .map(({ row }) => row);
}

const compareMeasures = (one: Measure, other: Measure, order: readonly Order[]): number =>
  order
    .map(({ metric, direction }) => (countOf(one, metric) - countOf(other, metric)) * direction)
    .find((difference) => difference !== 0) ?? 0;
