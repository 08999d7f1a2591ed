import {
  BID_STRATEGIES,
  BILLING_EVENTS,
  BUYING_TYPES,
  CALL_TO_ACTION_TYPES,
  OBJECT_STATUSES,
  OBJECTIVES,
  OPTIMIZATION_GOALS,
  SPECIAL_AD_CATEGORIES,
} from "../../schema/ad-enumerations.ts";
import { implies, oneOf, openObject, rule, Type, text } from "../../schema/types.ts";

/** Fields that several kinds of ad objects share, in requests and in responses. */

export const objectStatus = oneOf(OBJECT_STATUSES, { title: "AdObjectStatus", examples: ["PAUSED"] });
export const statusFilter = Type.Optional(
  oneOf(OBJECT_STATUSES, { description: "Only objects whose `status` has this value" }),
);
export const objective = oneOf(OBJECTIVES, { title: "Objective", examples: ["OUTCOME_TRAFFIC"] });
export const specialAdCategory = oneOf(SPECIAL_AD_CATEGORIES, {
  title: "SpecialAdCategory",
  examples: ["HOUSING"],
});
export const buyingType = oneOf(BUYING_TYPES, { title: "BuyingType", examples: ["AUCTION"] });
export const bidStrategy = oneOf(BID_STRATEGIES, {
  title: "BidStrategy",
  examples: ["LOWEST_COST_WITHOUT_CAP"],
});
export const billingEvent = oneOf(BILLING_EVENTS, { title: "BillingEvent", examples: ["IMPRESSIONS"] });
export const optimizationGoal = oneOf(OPTIMIZATION_GOALS, {
  title: "OptimizationGoal",
  examples: ["LINK_CLICKS"],
});
export const callToActionType = oneOf(CALL_TO_ACTION_TYPES, {
  title: "CallToActionType",
  examples: ["LEARN_MORE"],
});

/** The name of a campaign, ad set or ad in a response. */
export const objectName = (example: string) =>
  text(example, "Empty if an edit without `name` succeeded and the object could not be read again");

/** Limits each field of a body: encoding a larger one for the platform would delay other requests. */
export const MAX_FIELD_BYTES = 1_024 * 1_024;

/** Bounds the texts of a request; the platform decides how long each may be. */
const MAX_TEXT_CHARS = 1_000;
export const requestText = (example: string, description?: string) =>
  Type.String({
    minLength: 1,
    maxLength: MAX_TEXT_CHARS,
    examples: [example],
    ...(description ? { description } : {}),
  });

/** An id of the ad platform, in a path or in a request body. */
export const platformId = (example: string, description?: string) =>
  Type.String({
    pattern: "^\\d+$",
    maxLength: 32,
    examples: [example],
    ...(description ? { description } : {}),
  });

export const adAccountId = Type.String({
  pattern: "^act_\\d+$",
  maxLength: 36,
  description: "The ad platform's id of an active ad account of your client",
  examples: ["act_1600000000000101"],
  "x-message":
    "ad_account_id must be the ad platform's id of the account, such as act_1600000000000101, not its UUID",
});

/** An amount in a request. The largest integer that every JSON reader keeps exactly. */
export const amount = (example: number, description: string) =>
  Type.Integer({
    minimum: 0,
    maximum: Number.MAX_SAFE_INTEGER,
    examples: [example],
    description: `${description}, in the smallest unit of the account's currency (cents)`,
  });

/** An amount in a response. */
export const amountText = (example: string, description: string) =>
  text(example, `${description}, in the smallest unit of the account's currency (cents)`);

export const adTime = (field: string, description: string) =>
  Type.String({
    pattern: "^\\d{4}-\\d{2}-\\d{2}[Tt]\\d{2}:\\d{2}:\\d{2}(\\.\\d{1,9})?([Zz]|[+-]\\d{2}:?\\d{2})$",
    format: "date-time",
    maxLength: 40,
    description: `${description}. The offset may have no colon`,
    examples: ["2026-12-01T00:00:00-0300"],
    "x-message": `${field} must be a time with an offset, such as 2026-12-01T00:00:00-0300`,
  });

/** A time in a response, as the platform formats it. */
export const adTimeText = (description: string) => text("2026-12-01T00:00:00-0300", description);

/** An object that is passed to the ad platform unchanged. */
export const passedThrough = (example: object, description: string) =>
  openObject({}, { examples: [example], description });

export const exclusiveBudgets = rule(
  "daily_budget",
  "daily_budget and lifetime_budget are mutually exclusive",
  { not: { required: ["daily_budget", "lifetime_budget"] } },
);

export const lifetimeBudgetNeedsEnd = rule(
  "end_time",
  "lifetime_budget requires end_time in the same request",
  implies({ required: ["lifetime_budget"] }, { required: ["end_time"] }),
);

/** The times and states that the platform sets; part of every response about a campaign, ad set or ad. */
export const deliveryFields = {
  effective_status: Type.Optional(
    text(
      "PAUSED",
      "The status that results from the object, its parents and its review. It has more values than `status`",
    ),
  ),
  created_time: Type.Optional(adTimeText("When the object was created")),
  updated_time: Type.Optional(adTimeText("When the object was last changed")),
};
