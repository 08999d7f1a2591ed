/** Closed sets of values of ad objects and insights, each defined once. */

export const OBJECT_STATUSES = ["ACTIVE", "PAUSED", "DELETED", "ARCHIVED"] as const;

export const OBJECTIVES = [
  "APP_INSTALLS",
  "BRAND_AWARENESS",
  "CONVERSIONS",
  "EVENT_RESPONSES",
  "LEAD_GENERATION",
  "LINK_CLICKS",
  "LOCAL_AWARENESS",
  "MESSAGES",
  "OFFER_CLAIMS",
  "OUTCOME_APP_PROMOTION",
  "OUTCOME_AWARENESS",
  "OUTCOME_ENGAGEMENT",
  "OUTCOME_LEADS",
  "OUTCOME_SALES",
  "OUTCOME_TRAFFIC",
  "PAGE_LIKES",
  "POST_ENGAGEMENT",
  "PRODUCT_CATALOG_SALES",
  "REACH",
  "STORE_VISITS",
  "VIDEO_VIEWS",
] as const;

export const SPECIAL_AD_CATEGORIES = [
  "NONE",
  "EMPLOYMENT",
  "HOUSING",
  "CREDIT",
  "ISSUES_ELECTIONS_POLITICS",
  "ONLINE_GAMBLING_AND_GAMING",
  "FINANCIAL_PRODUCTS_SERVICES",
] as const;

export const BUYING_TYPES = ["AUCTION", "RESERVED"] as const;

export const BID_STRATEGIES = [
  "LOWEST_COST_WITHOUT_CAP",
  "LOWEST_COST_WITH_BID_CAP",
  "COST_CAP",
  "LOWEST_COST_WITH_MIN_ROAS",
] as const;

export const BILLING_EVENTS = [
  "APP_INSTALLS",
  "CLICKS",
  "IMPRESSIONS",
  "LINK_CLICKS",
  "NONE",
  "OFFER_CLAIMS",
  "PAGE_LIKES",
  "POST_ENGAGEMENT",
  "THRUPLAY",
  "PURCHASE",
  "LISTING_INTERACTION",
] as const;

export const OPTIMIZATION_GOALS = [
  "NONE",
  "APP_INSTALLS",
  "AD_RECALL_LIFT",
  "ENGAGED_USERS",
  "EVENT_RESPONSES",
  "IMPRESSIONS",
  "LEAD_GENERATION",
  "QUALITY_LEAD",
  "LINK_CLICKS",
  "OFFSITE_CONVERSIONS",
  "PAGE_LIKES",
  "POST_ENGAGEMENT",
  "QUALITY_CALL",
  "REACH",
  "LANDING_PAGE_VIEWS",
  "VISIT_INSTAGRAM_PROFILE",
  "ENGAGED_PAGE_VIEWS",
  "VALUE",
  "THRUPLAY",
  "DERIVED_EVENTS",
  "APP_INSTALLS_AND_OFFSITE_CONVERSIONS",
  "CONVERSATIONS",
  "IN_APP_VALUE",
  "MESSAGING_PURCHASE_CONVERSION",
  "MESSAGING_DEEP_CONVERSATION_AND_FOLLOW",
  "SUBSCRIBERS",
  "REMINDERS_SET",
  "MEANINGFUL_CALL_ATTEMPT",
  "PROFILE_VISIT",
  "PROFILE_AND_PAGE_ENGAGEMENT",
  "ADVERTISER_SILOED_VALUE",
  "AUTOMATIC_OBJECTIVE",
  "MESSAGING_APPOINTMENT_CONVERSION",
] as const;

/** The common call-to-action types; the platform has more, and creatives may use any. */
export const CALL_TO_ACTION_TYPES = [
  "LEARN_MORE",
  "SHOP_NOW",
  "SIGN_UP",
  "BOOK_TRAVEL",
  "DOWNLOAD",
  "GET_QUOTE",
  "CONTACT_US",
  "SUBSCRIBE",
  "APPLY_NOW",
  "GET_OFFER",
  "MESSAGE_PAGE",
  "WHATSAPP_MESSAGE",
  "CALL_NOW",
  "DONATE_NOW",
  "SEE_MENU",
  "ORDER_NOW",
  "PLAY_GAME",
  "INSTALL_MOBILE_APP",
  "NO_BUTTON",
] as const;

/** Statuses of an insights report run. */
export const REPORT_STATUSES = [
  "Job Not Started",
  "Job Started",
  "Job Running",
  "Job Completed",
  "Job Failed",
] as const;

export const DATE_PRESETS = [
  "today",
  "yesterday",
  "this_month",
  "last_month",
  "this_quarter",
  "maximum",
  "data_maximum",
  "last_3d",
  "last_7d",
  "last_14d",
  "last_28d",
  "last_30d",
  "last_90d",
  "last_week_mon_sun",
  "last_week_sun_sat",
  "last_quarter",
  "last_year",
  "this_week_mon_today",
  "this_week_sun_today",
  "this_year",
] as const;

/** The periods of an insights summary, a part of DATE_PRESETS. */
export const SUMMARY_PRESETS = [
  "yesterday",
  "last_7d",
  "last_14d",
  "last_28d",
  "last_30d",
  "last_90d",
  "last_month",
] as const satisfies readonly (typeof DATE_PRESETS)[number][];
export type SummaryPreset = (typeof SUMMARY_PRESETS)[number];

export const VIDEO_STATUSES = ["processing", "ready", "error"] as const;
export type VideoStatus = (typeof VIDEO_STATUSES)[number];

/** The common periods of an insights row; the platform accepts any number of days up to 90. */
export const TIME_INCREMENTS = ["1", "7", "28", "monthly", "all_days"] as const;

export const INSIGHTS_LEVELS = ["account", "campaign", "adset", "ad"] as const;

/** The metrics of insights when a query names none. */
export const DEFAULT_INSIGHTS_FIELDS = [
  "impressions",
  "clicks",
  "spend",
  "reach",
  "frequency",
  "cpc",
  "cpm",
  "ctr",
  "actions",
] as const;
