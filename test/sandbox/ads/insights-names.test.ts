import t from "tap";
import { AD_ACCOUNT_ID, type AdPlatform, startAdPlatform } from "../../fixtures/sandbox/ad-platform.ts";

const INSIGHTS = `${AD_ACCOUNT_ID}/insights`;
const PERIOD = '{"since":"2026-09-01","until":"2026-09-02"}';

const namesIn = (text: string) => text.trim().split(/\s+/);

/** The platform's names, written apart from the sandbox's lists so that a name missing there is found. */
const FIELDS = namesIn(`
  account_currency account_id account_name action_values actions ad_click_actions ad_id
  ad_impression_actions ad_name adset_end adset_id adset_name adset_start advanced_actions_28d_view
  advanced_reach_1d_lookback advanced_reach_28d_lookback advanced_reach_7d_lookback age_targeting
  anchor_event_attribution_setting anchor_events_performance_indicator attribution_setting auction_bid
  auction_competitiveness auction_max_competitor_bid average_purchases_conversion_value buying_type
  campaign_id campaign_name canvas_avg_view_percent canvas_avg_view_time catalog_segment_actions
  catalog_segment_value catalog_segment_value_mobile_purchase_roas catalog_segment_value_omni_purchase_roas
  catalog_segment_value_website_purchase_roas clicks configurable_attribution_action
  configurable_attribution_actionvalue configurable_audience_overlap_reach
  configurable_reachbyfrequency_action configurable_reachbyfrequency_converters_count
  configurable_reachbyfrequency_impressions_cost configurable_reachbyfrequency_impressions_count
  configurable_reachbyfrequency_reach conversion_lead_rate conversion_leads conversion_rate_ranking
  conversion_values conversions converted_product_app_custom_event_fb_mobile_purchase
  converted_product_app_custom_event_fb_mobile_purchase_value converted_product_offline_purchase
  converted_product_offline_purchase_value converted_product_omni_purchase
  converted_product_omni_purchase_values converted_product_quantity converted_product_value
  converted_product_website_pixel_purchase converted_product_website_pixel_purchase_value
  converted_promoted_product_app_custom_event_fb_mobile_purchase
  converted_promoted_product_app_custom_event_fb_mobile_purchase_value
  converted_promoted_product_offline_purchase converted_promoted_product_offline_purchase_value
  converted_promoted_product_omni_purchase converted_promoted_product_omni_purchase_values
  converted_promoted_product_quantity converted_promoted_product_value
  converted_promoted_product_website_pixel_purchase converted_promoted_product_website_pixel_purchase_value
  cost_per_15_sec_video_view cost_per_2_sec_continuous_video_view cost_per_6_sec_video_view
  cost_per_action_type cost_per_ad_click cost_per_conversion cost_per_conversion_lead
  cost_per_dda_countby_convs cost_per_estimated_ad_recallers cost_per_inline_link_click
  cost_per_inline_post_engagement cost_per_message_delivered cost_per_objective_result
  cost_per_one_thousand_ad_impression cost_per_outbound_click cost_per_result cost_per_thruplay
  cost_per_unique_action_type cost_per_unique_click cost_per_unique_conversion
  cost_per_unique_inline_link_click cost_per_unique_outbound_click cpc cpm cpp created_time
  creative_diversity_data creative_diversity_label creative_diversity_score creative_fatigue_summary
  creative_fatigued_ads creative_media_type ctr date_start date_stop dda_countby_convs dda_results
  engagement_rate_ranking estimated_ad_recall_rate estimated_ad_recall_rate_lower_bound
  estimated_ad_recall_rate_upper_bound estimated_ad_recallers estimated_ad_recallers_lower_bound
  estimated_ad_recallers_upper_bound frequency full_view_impressions full_view_reach gender_targeting
  impressions inline_link_click_ctr inline_link_clicks inline_post_engagement instagram_profile_follow
  instagram_profile_visits instagram_upcoming_event_reminders_set instant_experience_clicks_to_open
  instant_experience_clicks_to_start instant_experience_outbound_clicks interactive_component_tap labels
  landing_page_view_actions_per_link_click landing_page_view_per_link_click
  landing_page_view_per_purchase_rate link_clicks_per_results location
  marketing_messages_click_rate_benchmark marketing_messages_cost_per_delivered
  marketing_messages_cost_per_link_btn_click marketing_messages_delivered marketing_messages_delivery_rate
  marketing_messages_link_btn_click marketing_messages_link_btn_click_rate
  marketing_messages_media_view_rate marketing_messages_phone_call_btn_click_rate
  marketing_messages_quick_reply_btn_click marketing_messages_quick_reply_btn_click_rate
  marketing_messages_read marketing_messages_read_rate marketing_messages_read_rate_benchmark
  marketing_messages_sent marketing_messages_spend marketing_messages_spend_currency messages_delivered
  messages_delivered_ctr mobile_app_purchase_roas multi_event_conversion_attribution_setting objective
  objective_result_rate objective_results onsite_conversion_messaging_detected_purchase_deduped
  opportunity_score_l4 optimization_goal outbound_clicks outbound_clicks_ctr place_page_name
  playable_average_game_length playable_game_start_rate product_group_retailer_id product_retailer_id
  product_views purchase_per_landing_page_view purchase_roas purchases_per_link_click
  qualifying_question_qualify_answer_rate quality_ranking reach read_rate result_rate
  result_values_performance_indicator results shops_assisted_purchases social_spend spend total_card_view
  total_postbacks total_postbacks_detailed total_postbacks_detailed_v4 unique_actions unique_clicks
  unique_conversions unique_ctr unique_inline_link_click_ctr unique_inline_link_clicks
  unique_link_clicks_ctr unique_outbound_clicks unique_outbound_clicks_ctr
  unique_video_continuous_2_sec_watched_actions unique_video_view_15_sec updated_time
  video_15_sec_watched_actions video_30_sec_watched_actions video_6_sec_watched_actions
  video_avg_time_watched_actions video_continuous_2_sec_watched_actions video_p100_watched_actions
  video_p25_watched_actions video_p50_watched_actions video_p75_watched_actions video_p95_watched_actions
  video_play_actions video_play_curve_actions video_play_retention_0_to_15s_actions
  video_play_retention_20_to_60s_actions video_play_retention_graph_actions video_thruplay_watched_actions
  video_time_watched_actions video_view_per_impression website_ctr website_purchase_roas wish_bid
`);

const BREAKDOWNS = namesIn(`
  ad_extension_domain ad_extension_url ad_format_asset age app_id body_asset breakdown_ad_objective
  breakdown_reporting_ad_id call_to_action_asset coarse_conversion_value comscore_market
  conversion_destination country creative_automation_asset_id creative_relaxation_asset_type
  crm_advertiser_l12_territory_ids crm_advertiser_subvertical_id crm_advertiser_vertical_id
  crm_ult_advertiser_id description_asset device_platform dma existing_post_id fidelity_type
  flexible_format_asset_type frequency_value gen_ai_asset_type gender
  hourly_stats_aggregated_by_advertiser_time_zone hourly_stats_aggregated_by_audience_time_zone hsid
  image_asset impression_device impression_view_time_advertiser_hour_v2 instagram_ads_follow_type
  instagram_ads_instagram_media_product_type instagram_ads_time_since_creation_bucket internal_campaign_id
  is_auto_advance is_conversion_id_modeled is_rendered_as_delayed_skip_ad landing_destination link_url_asset
  marketing_messages_btn_name mdsa_landing_destination media_asset_url media_creator media_destination_url
  media_format media_origin_url media_text_content media_type mmm overlap_segment pa_creator_ig_handle
  place_page_id platform_position postback_sequence_index product_brand_breakdown product_category_breakdown
  product_custom_label_0_breakdown product_custom_label_1_breakdown product_custom_label_2_breakdown
  product_custom_label_3_breakdown product_custom_label_4_breakdown product_group_content_id_breakdown
  product_id publisher_platform redownload reels_trending_topic region rta_ugc_topic rule_set_id
  rule_set_name signal_source_bucket skan_campaign_id skan_conversion_id skan_version
  sot_attribution_model_type sot_attribution_window sot_channel sot_event_type sot_source
  standard_event_content_type title_asset user_persona_id user_persona_name video_asset zip
`);

const ACTION_BREAKDOWNS = namesIn(`
  action_canvas_component_name action_carousel_card_id action_carousel_card_name action_destination
  action_device action_reaction action_target_id action_type action_video_sound action_video_type
  conversion_destination is_business_ai_assisted matched_persona_id matched_persona_name
  signal_source_bucket standard_event_content_type
`);

async function readRows(ads: AdPlatform, query: Record<string, string>) {
  const { status, body } = await ads.get(INSIGHTS, { time_range: PERIOD, ...query });
  if (status !== 200) throw new Error(JSON.stringify(body));
  return body.data;
}

/** Asks for one name after the other and returns those that are refused. */
async function findRefused(ads: AdPlatform, parameter: string, names: readonly string[]): Promise<string[]> {
  const refused: string[] = [];
  for (const name of names) {
    const { status } = await ads.get(INSIGHTS, { time_range: PERIOD, [parameter]: name });
    if (status !== 200) refused.push(name);
  }
  return refused;
}

t.test("each of the platform's 219 fields is accepted alone, and all are accepted together", async (t) => {
  const ads = await startAdPlatform(t);
  t.equal(new Set(FIELDS).size, 219);
  t.same(await findRefused(ads, "fields", FIELDS), []);
  const [row] = await readRows(ads, { fields: FIELDS.join() });
  t.match(row, { impressions: /^\d+$/, account_name: String, actions: Array });
  t.same(
    Object.keys(row).filter((name) => !FIELDS.includes(name)),
    [],
  );
  t.notOk("wish_bid" in row, "a field without a value is absent");
});

t.test("an unknown field is refused by its name, also among known ones", async (t) => {
  const ads = await startAdPlatform(t);
  const message = "(#100) fame is not valid for fields param.";
  for (const fields of ["fame", `${FIELDS.join()},fame`])
    for (const ask of [ads.get, ads.post])
      t.match(await ask(INSIGHTS, { fields }), { status: 400, body: { error: { code: 100, message } } });
  t.same(await findRefused(ads, "fields", ["constructor", "age", "Spend"]), ["constructor", "age", "Spend"]);
});

t.test("each of the platform's 89 breakdowns is accepted alone, and no others are", async (t) => {
  const ads = await startAdPlatform(t);
  t.equal(new Set(BREAKDOWNS).size, 89);
  t.same(await findRefused(ads, "breakdowns", BREAKDOWNS), []);
  const { error } = (await ads.get(INSIGHTS, { breakdowns: "none" })).body;
  t.match(error, { code: 100, message: /got "none"/ });
  const known = /values: (\S+) - got/.exec(error.message)?.[1]?.split(",") ?? [];
  t.same(known.sort(), BREAKDOWNS);
  for (const breakdowns of ["rule_set_name", "media_type", "user_persona_id"])
    t.match(await readRows(ads, { breakdowns }), [{ [breakdowns]: String }, { [breakdowns]: String }]);
});

t.test("each of the platform's 16 action breakdowns is accepted alone, and no others are", async (t) => {
  const ads = await startAdPlatform(t);
  t.equal(new Set(ACTION_BREAKDOWNS).size, 16);
  t.same(await findRefused(ads, "action_breakdowns", ACTION_BREAKDOWNS), []);
  const query = { fields: "actions", time_range: PERIOD };
  for (const action_breakdowns of [ACTION_BREAKDOWNS.join(), '["action_device","action_video_sound"]'])
    t.equal((await readRows(ads, { ...query, action_breakdowns })).length, 1, action_breakdowns);
  for (const ask of [ads.get, ads.post]) {
    const { error } = (await ask(INSIGHTS, { ...query, action_breakdowns: "action_type,mood" })).body;
    t.match(error, { code: 100, message: /got "mood"/ });
    const known = /values: (\S+) - got/.exec(error.message)?.[1]?.split(",") ?? [];
    t.same(known.sort(), ACTION_BREAKDOWNS);
  }
});

t.test("a field without values counts as zero in filters and in the sort order", async (t) => {
  const ads = await startAdPlatform(t);
  const query = { time_increment: "1" };
  const rows = await readRows(ads, query);
  t.equal(rows.length, 2);
  for (const direction of ["ascending", "descending"])
    t.strictSame(await readRows(ads, { ...query, sort: `["purchase_roas_${direction}"]` }), rows);
  const filterBy = (field: string, operator: string) =>
    readRows(ads, { ...query, filtering: JSON.stringify([{ field, operator, value: 0 }]) });
  t.strictSame(await filterBy("video_p95_watched_actions", "GREATER_THAN"), []);
  t.strictSame(await filterBy("video_p95_watched_actions", "EQUAL"), rows);
  const filtering = JSON.stringify([{ field: "charm", operator: "EQUAL", value: 0 }]);
  t.match((await ads.get(INSIGHTS, { filtering })).body.error, { code: 100, message: /'charm'/ });
});

t.test("the rows of objects have the days on which they were created and changed", async (t) => {
  const ads = await startAdPlatform(t);
  const id = await ads.create("campaigns");
  const fields = "created_time,updated_time";
  const { created_time, updated_time } = (await ads.get(id, { fields })).body;
  const filtering = JSON.stringify([{ field: "created_time", operator: "GREATER_THAN", value: 0 }]);
  const [row] = await readRows(ads, { fields, level: "campaign", filtering });
  t.match(row, { created_time: created_time.slice(0, 10), updated_time: updated_time.slice(0, 10) });
  t.notOk("created_time" in (await readRows(ads, { fields }))[0], "an account's row has none");
});
