import { invalidParameter } from "../../wire/graph-error.ts";

const HOURS = Array.from({ length: 24 }, (_none, hour) => {
  const padded = String(hour).padStart(2, "0");
  return `${padded}:00:00 - ${padded}:59:59`;
});

/** What people are told apart by, and which of them there are here. The platform has eighty; these are asked for. */
const BREAKDOWNS: Readonly<Record<string, readonly string[]>> = {
  age: ["18-24", "25-34", "35-44", "45-54", "55-64", "65+"],
  gender: ["female", "male", "unknown"],
  country: ["BR", "PT", "US"],
  region: ["Minas Gerais", "Rio de Janeiro (state)", "São Paulo (state)"],
  dma: ["Boston (Manchester)", "New York"],
  publisher_platform: ["audience_network", "facebook", "instagram", "messenger"],
  platform_position: ["feed", "instagram_reels", "instagram_stories", "video_feeds"],
  device_platform: ["desktop", "mobile_app", "mobile_web"],
  impression_device: ["android_smartphone", "desktop", "ipad", "iphone"],
  hourly_stats_aggregated_by_advertiser_time_zone: HOURS,
  hourly_stats_aggregated_by_audience_time_zone: HOURS,
};

/** One part of the people: `{age: "18-24", gender: "female"}`. Without breakdowns there is one, of everybody. */
export type Cell = Readonly<Record<string, string>>;

export function readCells(names: readonly string[]): Cell[] {
  let cells: Cell[] = [{}];
  for (const name of names) {
    const parts = BREAKDOWNS[name];
    if (!parts)
      throw invalidParameter(`breakdowns[0] must be one of the following values: ${Object.keys(BREAKDOWNS)}`);
    cells = cells.flatMap((cell) => parts.map((part) => ({ ...cell, [name]: part })));
  }
  return cells;
}
