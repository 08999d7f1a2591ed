import type { Route } from "../../../http/route.ts";
import { knownOrOther, object, openObject, optional, Type, text } from "../../../schema/types.ts";
import {
  adAccountId,
  deliveryFields,
  objectName,
  objectStatus,
  platformId,
  requestText,
  statusFilter,
} from "../ad-object-fields.ts";
import { type AdObjectRouteParts, adObjectRoutes } from "../ad-object-routes.ts";

export const adRoutes = (parts: AdObjectRouteParts): Route[] =>
  adObjectRoutes(
    {
      kind: "ads",
      path: "/api/marketing/ads",
      names: { one: "an ad", many: "ads" },
      params: adParams,
      create: newAd,
      edit: adChanges,
      filters: adFilters,
      reply: ad,
    },
    parts,
  );

const creativeRef = object(
  { creative_id: platformId("120210000000000301", "An existing creative of the account") },
  { title: "AdCreativeRef" },
);

const editableFields = {
  name: requestText("A cup in Brazil"),
  status: objectStatus,
  creative: creativeRef,
  tracking_specs: Type.Array(
    openObject({}, { examples: [{ "action.type": ["offsite_conversion"], fb_pixel: ["1200000000000501"] }] }),
    { description: "Passed to the ad platform unchanged" },
  ),
};

const newAd = object(
  {
    ad_account_id: adAccountId,
    adset_id: platformId("120210000000000201", "The ad set to which the ad belongs; it cannot be changed"),
    ...optional(editableFields),
    name: editableFields.name,
    creative: editableFields.creative,
  },
  {
    title: "CreateAdDto",
    examples: [
      {
        ad_account_id: "act_1600000000000101",
        name: "A cup in Brazil",
        adset_id: "120210000000000201",
        creative: { creative_id: "120210000000000301" },
        status: "PAUSED",
      },
    ],
  },
);

/** Rejects the field whatever its value, null included, which the other fields of an edit ignore. */
const unchangeableAdSet = Type.Optional(
  Type.Union([Type.Null(), Type.String()], {
    not: {},
    description: "Cannot be changed",
    "x-message": "adset_id cannot be changed: create a new ad in the other ad set",
  }),
);

const adChanges = object(
  { ad_account_id: adAccountId, ...optional(editableFields), adset_id: unchangeableAdSet },
  {
    title: "UpdateAdDto",
    examples: [{ ad_account_id: "act_1600000000000101", status: "ACTIVE" }],
  },
);

const ad = object(
  {
    id: text("120210000000000401"),
    name: objectName("A cup in Brazil"),
    ...optional({
      adset_id: text("120210000000000201"),
      campaign_id: text("120210000000000101"),
      status: knownOrOther(objectStatus),
      creative: object(
        {
          creative_id: text("120210000000000301"),
          ...optional({
            name: text("A cup"),
            thumbnail_url: text("https://cdn.platform.example/thumbnails/120210000000000301.jpg"),
          }),
        },
        { title: "AdCreativeRefDto" },
      ),
    }),
    ...deliveryFields,
  },
  { title: "AdDto" },
);

const adParams = object({ adId: platformId("120210000000000401", "The ad platform's id of the ad") });

const adFilters = {
  adset_id: Type.Optional(platformId("120210000000000201", "Only the ads of this ad set")),
  campaign_id: Type.Optional(platformId("120210000000000101", "Only the ads of this campaign")),
  status: statusFilter,
};
