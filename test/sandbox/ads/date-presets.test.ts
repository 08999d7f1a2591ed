import t from "tap";
import { DATE_PRESETS } from "../../../src/sandbox/ads/insights/periods.ts";
import { AD_ACCOUNT_ID, startAdPlatform } from "../../fixtures/sandbox/ad-platform.ts";

/** Expected ranges, relative to a Wednesday. */
const RANGES: Record<string, [string, string]> = {
  today: ["2026-05-13", "2026-05-13"],
  yesterday: ["2026-05-12", "2026-05-12"],
  this_month: ["2026-05-01", "2026-05-13"],
  last_month: ["2026-04-01", "2026-04-30"],
  this_quarter: ["2026-04-01", "2026-05-13"],
  maximum: ["2023-04-13", "2026-05-13"],
  data_maximum: ["2023-04-13", "2026-05-13"],
  last_3d: ["2026-05-10", "2026-05-12"],
  last_7d: ["2026-05-06", "2026-05-12"],
  last_14d: ["2026-04-29", "2026-05-12"],
  last_28d: ["2026-04-15", "2026-05-12"],
  last_30d: ["2026-04-13", "2026-05-12"],
  last_90d: ["2026-02-12", "2026-05-12"],
  last_week_mon_sun: ["2026-05-04", "2026-05-10"],
  last_week_sun_sat: ["2026-05-03", "2026-05-09"],
  last_quarter: ["2026-01-01", "2026-03-31"],
  last_year: ["2025-01-01", "2025-12-31"],
  this_week_mon_today: ["2026-05-11", "2026-05-13"],
  this_week_sun_today: ["2026-05-10", "2026-05-13"],
  this_year: ["2026-01-01", "2026-05-13"],
};

t.test("every preset gives its range", async (t) => {
  for (const [name, [since, until]] of Object.entries(RANGES))
    t.strictSame(DATE_PRESETS[name]?.("2026-05-13"), { since, until }, name);
  t.strictSame(Object.keys(DATE_PRESETS).sort(), Object.keys(RANGES).sort());
});

t.test("a week that begins today has one day, and months end on their last day", async (t) => {
  t.equal(DATE_PRESETS.this_week_sun_today?.("2026-05-10").since, "2026-05-10");
  t.equal(DATE_PRESETS.this_week_mon_today?.("2026-05-10").since, "2026-05-04");
  t.equal(DATE_PRESETS.maximum?.("2026-03-31").since, "2023-02-28");
  t.strictSame(DATE_PRESETS.last_month?.("2024-03-31"), { since: "2024-02-01", until: "2024-02-29" });
  t.equal(DATE_PRESETS.last_quarter?.("2026-01-15").since, "2025-10-01");
});

t.test("every preset is accepted", async (t) => {
  const ads = await startAdPlatform(t);
  for (const date_preset of Object.keys(RANGES)) {
    const { status, body } = await ads.get(`${AD_ACCOUNT_ID}/insights`, { date_preset });
    t.equal(status, 200, date_preset);
    t.match(body.data[0], { date_start: /^\d{4}-/ });
  }
});
