import type { Route } from "../../../http/route.ts";
import { implies, knownOrOther, object, openObject, optional, Type, text } from "../../../schema/types.ts";
import {
  adAccountId,
  callToActionType,
  passedThrough,
  platformId,
  requestText,
} from "../ad-object-fields.ts";
import { type AdObjectRouteParts, adObjectRoutes } from "../ad-object-routes.ts";

/** Creatives cannot be edited: an ad gets a new creative instead. */
export const creativeRoutes = (parts: AdObjectRouteParts): Route[] =>
  adObjectRoutes(
    {
      kind: "adcreatives",
      path: "/api/marketing/creatives",
      names: { one: "a creative", many: "creatives" },
      params: creativeParams,
      create: newCreative,
      reply: creative,
    },
    parts,
  );

const LINK_DATA = {
  link: "https://shop.example/",
  message: "Fresh coffee, at your door tomorrow",
  image_hash: "abcdef01234567891600000000000101",
  call_to_action: { type: "SHOP_NOW", value: { link: "https://shop.example/" } },
};
const STORY = { page_id: "1300000000000401", link_data: LINK_DATA };

const oneContent = implies(
  { type: "object" },
  {
    oneOf: [{ required: ["link_data"] }, { required: ["video_data"] }],
    "x-message": "object_story_spec must have exactly one of link_data and video_data",
  },
);

const storySpec = openObject(
  {
    page_id: requestText("1300000000000401", "The page that publishes the ad"),
    link_data: Type.Optional(
      passedThrough(LINK_DATA, "A link ad. `image_hash` names an uploaded image of the account"),
    ),
    video_data: Type.Optional(
      passedThrough({ video_id: "1100000000000601" }, "A video ad. `video_id` names an uploaded video"),
    ),
  },
  { title: "ObjectStorySpecDto", examples: [STORY], allOf: [oneContent] },
);

const newCreative = object(
  {
    ad_account_id: adAccountId,
    object_story_spec: storySpec,
    ...optional({
      name: requestText("A cup"),
      degrees_of_freedom_spec: passedThrough(
        { creative_features_spec: { standard_enhancements: { enroll_status: "OPT_OUT" } } },
        "Settings of automatic variations, passed to the ad platform unchanged",
      ),
    }),
  },
  {
    title: "CreateCreativeDto",
    examples: [{ ad_account_id: "act_1600000000000101", name: "A cup", object_story_spec: STORY }],
  },
);

const creative = object(
  {
    id: text("120210000000000301"),
    ...optional({
      name: text("A cup"),
      status: text("ACTIVE", "The ad platform's status of the creative"),
      object_story_spec: passedThrough(STORY, "The content as the ad platform stored it"),
      object_story_id: text("1300000000000401_120210000000777"),
      effective_object_story_id: text("1300000000000401_120210000000777"),
      thumbnail_url: text("https://cdn.platform.example/thumbnails/120210000000000301.jpg"),
      image_hash: text(LINK_DATA.image_hash),
      image_url: text("https://cdn.platform.example/images/120210000000000301.jpg"),
      video_id: text("1100000000000601"),
      call_to_action_type: knownOrOther(callToActionType),
    }),
  },
  { title: "CreativeDto" },
);

const creativeParams = object({
  creativeId: platformId("120210000000000301", "The ad platform's id of the creative"),
});
