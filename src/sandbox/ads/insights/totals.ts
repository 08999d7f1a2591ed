import { createHash } from "node:crypto";
import { type Day, type DayRange, daysOf } from "../../../runtime/days.ts";

/** The base counts from which all metrics are derived. */
export interface Totals {
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
