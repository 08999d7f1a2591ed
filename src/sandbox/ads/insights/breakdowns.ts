import { invalidParameter } from "../../graph/graph-error.ts";
import { ownProperty } from "../../graph/params.ts";
import { refuse } from "../refusals.ts";
import { ACTION_BREAKDOWNS, BREAKDOWNS_WITHOUT_OWN_VALUES } from "./names.ts";

const HOURS = Array.from({ length: 24 }, (_none, hour) => {
  const padded = String(hour).padStart(2, "0");
  return `${padded}:00:00 - ${padded}:59:59`;
});

/** All breakdowns of the platform and their values. */
const BREAKDOWNS: Readonly<Record<string, readonly string[]>> = {
  ...Object.fromEntries(BREAKDOWNS_WITHOUT_OWN_VALUES.map((name) => [name, ["first", "second"]])),
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

export function checkActionBreakdowns(names: readonly string[]): void {
  const unknownName = names.find((name) => name !== "" && !ACTION_BREAKDOWNS.includes(name));
  if (unknownName !== undefined)
    throw invalidParameter(
      `action_breakdowns must be of the following values: ${ACTION_BREAKDOWNS} - got "${unknownName}"`,
    );
}

/**
 * A combination of breakdown values: `{age: "18-24", gender: "female"}`. Without breakdowns there is one
 * empty cell.
 */
export type Cell = Readonly<Record<string, string>>;

/** Row limit of a report. */
export const MAX_REPORT_ROWS = 100_000;

/** Checks the limit while multiplying, because a few breakdowns can exceed the memory. */
export function readCells(names: readonly string[]): Cell[] {
  if (new Set(names).size < names.length) throw invalidParameter("breakdowns must be unique");
  let cells: Cell[] = [{}];
  for (const name of names) {
    const parts = ownProperty(BREAKDOWNS, name);
    if (!parts)
      throw invalidParameter(
        `breakdowns must be of the following values: ${Object.keys(BREAKDOWNS)} - got "${name}"`,
      );
    if (cells.length * parts.length > MAX_REPORT_ROWS) throw refuse("tooMuchData");
    cells = cells.flatMap((cell) => parts.map((part) => ({ ...cell, [name]: part })));
  }
  return cells;
}
