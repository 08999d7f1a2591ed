import { BID_STRATEGIES, BILLING_EVENTS, OPTIMIZATION_GOALS, STATUSES } from "../enumerations.ts";
import { refuse } from "../refusals.ts";
import { amount, count, object, oneOf, text, time, type Values } from "../values.ts";
import { type AdKind, DELIVERY_FIELDS, type Rule, requireActiveOrPaused } from "./ad-kind.ts";
import { hasBudget, rejectTwoBudgets, requireMinimumBudget } from "./budgets.ts";
import type { AdObject } from "./objects.ts";

type CampaignRule = (values: Values, campaign: AdObject) => ReturnType<Rule>;

/** A rule that also depends on the campaign. */
const withCampaign =
  (rule: CampaignRule): Rule =>
  ({ objects, account, values, before }) => {
    const campaign = objects.findIn(account, "campaign", String(values.campaign_id));
    return campaign && (before || campaign.values.status !== "DELETED")
      ? rule(values, campaign)
      : refuse("noCampaign");
  };

const requireBudgetAtOneLevel = withCampaign((values, campaign) => {
  if (hasBudget(values) && hasBudget(campaign.values)) return refuse("budgetAtBothLevels");
  return hasBudget(values) || hasBudget(campaign.values) ? undefined : refuse("noBudget");
});

const CAPPED_BID_STRATEGIES = ["LOWEST_COST_WITH_BID_CAP", "COST_CAP"];

const requireBidWhenCapped = withCampaign((values, campaign) =>
  CAPPED_BID_STRATEGIES.includes(String(values.bid_strategy ?? campaign.values.bid_strategy)) &&
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
