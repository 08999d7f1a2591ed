import type { Route } from "../../../http/route.ts";
import { knownOrOther, object, openObject, optional, Type, text } from "../../../schema/types.ts";
import {
  adAccountId,
  adTime,
  adTimeText,
  amount,
  amountText,
  bidStrategy,
  billingEvent,
  deliveryFields,
  exclusiveBudgets,
  lifetimeBudgetNeedsEnd,
  objectName,
  objectStatus,
  optimizationGoal,
  passedThrough,
  platformId,
  requestText,
  statusFilter,
} from "../ad-object-fields.ts";
import { type AdObjectRouteParts, adObjectRoutes } from "../ad-object-routes.ts";

export const adSetRoutes = (parts: AdObjectRouteParts): Route[] =>
  adObjectRoutes(
    {
      kind: "adsets",
      path: "/api/marketing/adsets",
      names: { one: "an ad set", many: "ad sets" },
      params: adSetParams,
      create: newAdSet,
      edit: adSetChanges,
      filters: adSetFilters,
      reply: adSet,
    },
    parts,
  );

const TARGETING = { geo_locations: { countries: ["BR"] }, age_min: 18 };

/** Every set of fields that identifies what an ad set promotes. */
const PROMOTED_OBJECTS = [
  ["page_id"],
  ["application_id", "object_store_url"],
  ["pixel_id"],
  ["product_set_id"],
  ["custom_conversion_id"],
  ["whatsapp_phone_number"],
];

const promotedObject = openObject(
  {},
  {
    description: "What the ad set promotes",
    examples: [{ page_id: "1300000000000401" }],
    allOf: [
      {
        anyOf: PROMOTED_OBJECTS.map((required) => ({ required })),
        "x-message":
          "promoted_object must have page_id, application_id and object_store_url, pixel_id, product_set_id, custom_conversion_id or whatsapp_phone_number",
      },
    ],
  },
);

const editableFields = {
  name: requestText("Brazil, adults"),
  status: objectStatus,
  daily_budget: amount(2_000, "Budget per day"),
  lifetime_budget: amount(20_000, "Budget for the whole run, which requires `end_time`"),
  billing_event: billingEvent,
  optimization_goal: optimizationGoal,
  bid_amount: amount(150, "Maximum bid"),
  bid_strategy: bidStrategy,
  start_time: adTime("start_time", "When the ad set starts"),
  end_time: adTime("end_time", "When the ad set ends"),
  targeting: passedThrough(TARGETING, "The audience, in the ad platform's format"),
  promoted_object: promotedObject,
  destination_type: requestText("WEBSITE", "Where the ads lead, in the ad platform's words"),
  dsa_payor: requestText("Sandbox Coffee Ltda", "Who pays for the ads (European Digital Services Act)"),
  dsa_beneficiary: requestText(
    "Sandbox Coffee Ltda",
    "Who benefits from the ads (European Digital Services Act)",
  ),
};

const rules = [exclusiveBudgets, lifetimeBudgetNeedsEnd];

const newAdSet = object(
  {
    ad_account_id: adAccountId,
    campaign_id: platformId("120210000000000101", "The campaign to which the ad set belongs"),
    ...optional(editableFields),
    name: editableFields.name,
  },
  {
    title: "CreateAdSetDto",
    allOf: rules,
    examples: [
      {
        ad_account_id: "act_1600000000000101",
        campaign_id: "120210000000000101",
        name: "Brazil, adults",
        daily_budget: 2_000,
        billing_event: "IMPRESSIONS",
        optimization_goal: "LINK_CLICKS",
        bid_strategy: "LOWEST_COST_WITHOUT_CAP",
        targeting: TARGETING,
      },
    ],
  },
);

const adSetChanges = object(
  { ad_account_id: adAccountId, ...optional(editableFields) },
  {
    title: "UpdateAdSetDto",
    "x-fixed": ["campaign_id"],
    allOf: rules,
    examples: [
      {
        ad_account_id: "act_1600000000000101",
        lifetime_budget: 20_000,
        end_time: "2026-12-31T23:59:59-0300",
      },
    ],
  },
);

const adSet = object(
  {
    id: text("120210000000000201"),
    name: objectName("Brazil, adults"),
    ...optional({
      campaign_id: text("120210000000000101"),
      status: knownOrOther(objectStatus),
      daily_budget: amountText("2000", "Budget per day"),
      lifetime_budget: amountText("20000", "Budget for the whole run"),
      billing_event: knownOrOther(billingEvent),
      optimization_goal: knownOrOther(optimizationGoal),
      bid_amount: amountText("150", "Maximum bid"),
      bid_strategy: knownOrOther(bidStrategy),
      start_time: adTimeText("When the ad set starts"),
      end_time: adTimeText("When the ad set ends"),
      targeting: passedThrough(TARGETING, "The audience as the ad platform stored it"),
      promoted_object: passedThrough({ page_id: "1300000000000401" }, "What the ad set promotes"),
      destination_type: text("WEBSITE"),
    }),
    ...deliveryFields,
  },
  { title: "AdSetDto" },
);

const adSetParams = object({
  adSetId: platformId("120210000000000201", "The ad platform's id of the ad set"),
});

const adSetFilters = {
  campaign_id: Type.Optional(platformId("120210000000000101", "Only the ad sets of this campaign")),
  status: statusFilter,
};
