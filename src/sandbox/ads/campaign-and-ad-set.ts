import { GraphError } from "../graph/graph-error.ts";
import { usageHeaders } from "../graph/usage.ts";
import { isThrottled } from "../magic-values.ts";
import { hasBudget, rejectTwoBudgets, requireMinimumBudget } from "./budgets-and-spend-cap.ts";
import {
  BID_STRATEGIES,
  BILLING_EVENTS,
  BUYING_TYPES,
  OBJECTIVES,
  OPTIMIZATION_GOALS,
  SPECIAL_AD_CATEGORIES,
  STATUSES,
} from "./enumerations.ts";
import { type AdKind, type AdObject, DELIVERY_FIELDS, type Rule, requireActiveOrPaused } from "./objects.ts";
import { refuse } from "./refusals.ts";
import { amount, count, flag, listOf, object, oneOf, text, texts, time, type Values } from "./values.ts";

const rejectThrottled: Rule = ({ before, values, account }) =>
  before || !isThrottled(String(values.name))
    ? undefined
    : new GraphError(
        80004,
        "(#80004) There have been too many calls to this ad-account. Wait a bit and try again.",
        {
          subcode: 2446079,
          headers: usageHeaders("ads_management", account.id, { percent: 100, regainMinutes: 1 }),
        },
      );

const rejectLegacyObjective: Rule = ({ before, values }) =>
  before || String(values.objective).startsWith("OUTCOME_") ? undefined : refuse("legacyObjective");

const requireBudgetSharing: Rule = ({ values }) =>
  hasBudget(values) || values.is_adset_budget_sharing_enabled !== undefined
    ? undefined
    : refuse("budgetSharing");

const rejectAdSetBudgets: Rule = ({ before, values, objects }) =>
  before &&
  hasBudget(values) &&
  objects
    .listWithin(before, "adset")
    .some((child) => child.values.status !== "DELETED" && hasBudget(child.values))
    ? refuse("budgetAtBothLevels")
    : undefined;

const requireStopAfterStart: Rule = ({ values: { start_time, stop_time } }) =>
  start_time instanceof Date && stop_time instanceof Date && stop_time <= start_time
    ? refuse("endsBeforeStart", ["stop_time"])
    : undefined;

export const campaign: AdKind = {
  kind: "campaign",
  type: "Campaign",
  params: {
    name: text,
    objective: oneOf(OBJECTIVES),
    status: oneOf(STATUSES),
    special_ad_categories: listOf(SPECIAL_AD_CATEGORIES),
    special_ad_category_country: texts,
    buying_type: oneOf(BUYING_TYPES),
    daily_budget: amount,
    lifetime_budget: amount,
    spend_cap: amount,
    bid_strategy: oneOf(BID_STRATEGIES),
    is_adset_budget_sharing_enabled: flag,
    start_time: time,
    stop_time: time,
  },
  required: ["name", "objective", "special_ad_categories"],
  immutable: ["buying_type"],
  defaults: { status: "ACTIVE", buying_type: "AUCTION" },
  rules: [
    rejectThrottled,
    requireActiveOrPaused,
    rejectLegacyObjective,
    rejectTwoBudgets,
    requireMinimumBudget,
    requireBudgetSharing,
    rejectAdSetBudgets,
    requireStopAfterStart,
  ],
  computedFields: DELIVERY_FIELDS,
  defaultFields: [],
  frozen: { DELETED: "deletedCampaign" },
};

type CampaignRule = (values: Values, parent: AdObject) => ReturnType<Rule>;

/** A rule that also depends on the campaign. */
const withCampaign =
  (rule: CampaignRule): Rule =>
  ({ objects, account, values, before }) => {
    const parent = objects.findIn(account, "campaign", String(values.campaign_id));
    return parent && (before || parent.values.status !== "DELETED")
      ? rule(values, parent)
      : refuse("noCampaign");
  };

const requireBudgetAtOneLevel = withCampaign((values, parent) => {
  if (hasBudget(values) && hasBudget(parent.values)) return refuse("budgetAtBothLevels");
  return hasBudget(values) || hasBudget(parent.values) ? undefined : refuse("noBudget");
});

const CAPPED_BID_STRATEGIES = ["LOWEST_COST_WITH_BID_CAP", "COST_CAP"];

const requireBidWhenCapped = withCampaign((values, parent) =>
  CAPPED_BID_STRATEGIES.includes(String(values.bid_strategy ?? parent.values.bid_strategy)) &&
  values.bid_amount === undefined
    ? refuse("noBid")
    : undefined,
);

const requireLocation: Rule = ({ values }) => {
  const places = (values.targeting as Values).geo_locations;
  return typeof places === "object" && places !== null && Object.keys(places).length > 0
    ? undefined
    : refuse("noPlace");
};

const requireValidEndTime: Rule = ({ values: { lifetime_budget, start_time, end_time } }) => {
  if (lifetime_budget !== undefined && end_time === undefined) return refuse("noEnd");
  const start = start_time instanceof Date ? start_time : new Date(0);
  return end_time instanceof Date && end_time <= start ? refuse("endsBeforeStart") : undefined;
};

export const adSet: AdKind = {
  kind: "adset",
  type: "AdSet",
  params: {
    name: text,
    campaign_id: text,
    status: oneOf(STATUSES),
    daily_budget: amount,
    lifetime_budget: amount,
    billing_event: oneOf(BILLING_EVENTS),
    optimization_goal: oneOf(OPTIMIZATION_GOALS),
    destination_type: text,
    bid_amount: count,
    bid_strategy: oneOf(BID_STRATEGIES),
    start_time: time,
    end_time: time,
    targeting: object,
    promoted_object: object,
    dsa_beneficiary: text,
    dsa_payor: text,
  },
  required: ["name", "campaign_id", "billing_event", "optimization_goal", "targeting"],
  immutable: ["campaign_id"],
  defaults: { status: "ACTIVE" },
  rules: [
    requireActiveOrPaused,
    rejectTwoBudgets,
    requireMinimumBudget,
    requireBudgetAtOneLevel,
    requireBidWhenCapped,
    requireLocation,
    requireValidEndTime,
  ],
  computedFields: {
    ...DELIVERY_FIELDS,
    daily_budget: ({ values }) => values.daily_budget ?? "0",
    lifetime_budget: ({ values }) => values.lifetime_budget ?? "0",
  },
  defaultFields: [],
  frozen: { DELETED: "deletedAdSet" },
};
