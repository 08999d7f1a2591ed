import { invalidParameter } from "../../graph/graph-error.ts";
import { ownProperty } from "../../graph/params.ts";
import { refuse } from "../refusals.ts";

const HOURS = Array.from({ length: 24 }, (_none, hour) => {
  const padded = String(hour).padStart(2, "0");
  return `${padded}:00:00 - ${padded}:59:59`;
});

/** Breakdowns that are rarely requested: the sandbox has no own values for them. */
const FURTHER_BREAKDOWNS = [
  "ad_extension_domain",
  "ad_extension_url",
  "ad_format_asset",
  "app_id",
  "body_asset",
  "breakdown_ad_objective",
  "breakdown_reporting_ad_id",
  "call_to_action_asset",
  "coarse_conversion_value",
  "comscore_market",
  "conversion_destination",
  "creative_automation_asset_id",
  "creative_relaxation_asset_type",
  "crm_advertiser_l12_territory_ids",
  "crm_advertiser_subvertical_id",
  "crm_advertiser_vertical_id",
  "crm_ult_advertiser_id",
  "description_asset",
  "existing_post_id",
  "fidelity_type",
  "flexible_format_asset_type",
  "frequency_value",
  "gen_ai_asset_type",
  "hsid",
  "image_asset",
  "impression_view_time_advertiser_hour_v2",
  "instagram_ads_follow_type",
  "instagram_ads_instagram_media_product_type",
  "instagram_ads_time_since_creation_bucket",
  "internal_campaign_id",
  "is_auto_advance",
  "is_conversion_id_modeled",
  "is_rendered_as_delayed_skip_ad",
  "landing_destination",
  "link_url_asset",
  "marketing_messages_btn_name",
  "mdsa_landing_destination",
  "media_asset_url",
  "media_creator",
  "media_destination_url",
  "media_format",
  "media_origin_url",
  "media_text_content",
  "media_type",
  "mmm",
  "overlap_segment",
  "pa_creator_ig_handle",
  "place_page_id",
  "postback_sequence_index",
  "product_brand_breakdown",
  "product_category_breakdown",
  "product_custom_label_0_breakdown",
  "product_custom_label_1_breakdown",
  "product_custom_label_2_breakdown",
  "product_custom_label_3_breakdown",
  "product_custom_label_4_breakdown",
  "product_group_content_id_breakdown",
  "product_id",
  "redownload",
  "reels_trending_topic",
  "rta_ugc_topic",
  "rule_set_id",
  "rule_set_name",
  "signal_source_bucket",
  "skan_campaign_id",
  "skan_conversion_id",
  "skan_version",
  "sot_attribution_model_type",
  "sot_attribution_window",
  "sot_channel",
  "sot_event_type",
  "sot_source",
  "standard_event_content_type",
  "title_asset",
  "user_persona_id",
  "user_persona_name",
  "video_asset",
  "zip",
] as const;

/** All breakdowns of the platform and their values. */
const BREAKDOWNS: Readonly<Record<string, readonly string[]>> = {
  ...Object.fromEntries(FURTHER_BREAKDOWNS.map((name) => [name, ["first", "second"]])),
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

/** Accepted action breakdowns. They do not change the rows, because every action has one kind only. */
const ACTION_BREAKDOWNS: readonly string[] = [
  "action_carousel_card_id",
  "action_carousel_card_name",
  "action_destination",
  "action_device",
  "action_reaction",
  "action_target_id",
  "action_type",
  "action_video_sound",
  "action_video_type",
];

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
