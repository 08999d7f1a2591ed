import { usageHeaders } from "../../usage.ts";
import { GraphError } from "../../wire/graph-error.ts";
import {
  BID_STRATEGIES,
  BUYING_TYPES,
  OBJECTIVES,
  SPECIAL_AD_CATEGORIES,
  STATUSES,
} from "../enumerations.ts";
import { isThrottled } from "../magic-values.ts";
import { refuse } from "../refusals.ts";
import { amount, flag, listOf, oneOf, text, texts, time } from "../values.ts";
import { type AdKind, DELIVERY_FIELDS, type Rule, requireActiveOrPaused } from "./ad-kind.ts";
import { hasBudget, rejectTwoBudgets, requireMinimumBudget } from "./budgets.ts";

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
    .some((adSet) => adSet.values.status !== "DELETED" && hasBudget(adSet.values))
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
