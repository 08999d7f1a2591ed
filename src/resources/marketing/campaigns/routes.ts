import type { Route } from "../../../http/route.ts";
import { knownOrOther, object, optional, Type, text } from "../../../schema/types.ts";
import {
  adAccountId,
  adTime,
  adTimeText,
  amount,
  amountText,
  bidStrategy,
  buyingType,
  deliveryFields,
  exclusiveBudgets,
  objective,
  objectName,
  objectStatus,
  platformId,
  requestText,
  specialAdCategory,
  statusFilter,
} from "../ad-object-fields.ts";
import { type AdObjectRouteParts, adObjectRoutes } from "../ad-object-routes.ts";

export const campaignRoutes = (parts: AdObjectRouteParts): Route[] =>
  adObjectRoutes(
    {
      kind: "campaigns",
      path: "/api/marketing/campaigns",
      names: { one: "a campaign", many: "campaigns" },
      params: campaignParams,
      create: newCampaign,
      edit: campaignChanges,
      filters: campaignFilters,
      reply: campaign,
    },
    parts,
  );

const editableFields = {
  name: requestText("Spring sale"),
  status: objectStatus,
  special_ad_categories: Type.Array(specialAdCategory, { maxItems: 100 }),
  special_ad_category_country: Type.Array(requestText("BR"), {
    maxItems: 500,
    description: "Countries to which the special ad categories apply",
  }),
  daily_budget: amount(5_000, "Budget per day"),
  lifetime_budget: amount(50_000, "Budget for the whole run"),
  bid_strategy: bidStrategy,
  spend_cap: amount(100_000, "Maximum spend of the campaign"),
  start_time: adTime("start_time", "When the campaign starts"),
  stop_time: adTime("stop_time", "When the campaign stops"),
};

const newCampaign = object(
  {
    ad_account_id: adAccountId,
    ...optional(editableFields),
    name: editableFields.name,
    objective,
    buying_type: Type.Optional(buyingType),
  },
  {
    title: "CreateCampaignDto",
    allOf: [exclusiveBudgets],
    examples: [
      {
        ad_account_id: "act_1600000000000101",
        name: "Spring sale",
        objective: "OUTCOME_TRAFFIC",
        special_ad_categories: [],
        status: "PAUSED",
      },
    ],
  },
);

const campaignChanges = object(
  { ad_account_id: adAccountId, ...optional(editableFields) },
  {
    title: "UpdateCampaignDto",
    "x-fixed": ["objective", "buying_type"],
    allOf: [exclusiveBudgets],
    examples: [{ ad_account_id: "act_1600000000000101", name: "Spring sale, extended", status: "ACTIVE" }],
  },
);

const campaign = object(
  {
    id: text("120210000000000101"),
    name: objectName("Spring sale"),
    ...optional({
      objective: knownOrOther(objective),
      status: knownOrOther(objectStatus),
      special_ad_categories: Type.Array(knownOrOther(specialAdCategory)),
      special_ad_category_country: Type.Array(text("BR")),
      buying_type: knownOrOther(buyingType),
      daily_budget: amountText("5000", "Budget per day"),
      lifetime_budget: amountText("50000", "Budget for the whole run"),
      spend_cap: amountText("100000", "Maximum spend of the campaign"),
      bid_strategy: knownOrOther(bidStrategy),
      start_time: adTimeText("When the campaign starts"),
      stop_time: adTimeText("When the campaign stops"),
    }),
    ...deliveryFields,
  },
  { title: "CampaignDto" },
);

const campaignParams = object({
  campaignId: platformId("120210000000000101", "The ad platform's id of the campaign"),
});

const campaignFilters = { status: statusFilter };
