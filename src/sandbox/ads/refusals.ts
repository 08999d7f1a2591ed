import { GraphError } from "../graph/graph-error.ts";

interface Refusal {
  code?: number;
  subcode?: number;
  title: string;
  message: string;
  /** The invalid parameters. */
  blame?: readonly string[];
  /** Sends `error_data` as JSON text: the platform uses an object in some errors and text in others. */
  asText?: true;
}

/** Errors for ad objects whose parameters are well-formed but not accepted. */
const REFUSALS = {
  legacyObjective: {
    title: "Objective Is Not Available",
    message: "New campaigns require an OUTCOME_ objective.",
    blame: ["objective"],
  },
  unfitStatus: {
    title: "Status Is Not Available",
    message: "A new object can only be active or paused.",
    blame: ["status"],
  },
  budgetSharing: {
    subcode: 4834011,
    title: "Must Specify True or False in is_adset_budget_sharing_enabled Field",
    message: "A campaign without a budget must specify whether its ad sets can share theirs.",
    blame: ["is_adset_budget_sharing_enabled"],
  },
  twoBudgets: {
    title: "Two Budgets",
    message: "Choose either a daily budget or a lifetime budget.",
    blame: ["daily_budget", "lifetime_budget"],
    asText: true,
  },
  budgetAtBothLevels: {
    subcode: 1885621,
    title: "Can't Set Both Ad Set and Campaign Budgets",
    message: "You can only set an ad set budget or a campaign budget.",
    blame: ["daily_budget"],
  },
  budgetTooLow: {
    subcode: 1885272,
    title: "Your Budget Is Too Low",
    message: "Your budget must be at least 1.00 in the currency of the account.",
    asText: true,
  },
  noBudget: {
    title: "Budget Is Missing",
    message: "The campaign has no budget, so each of its ad sets needs one.",
    blame: ["daily_budget", "lifetime_budget"],
  },
  noEnd: {
    title: "End Time Is Missing",
    message: "A lifetime budget requires an end time.",
    blame: ["end_time"],
  },
  endsBeforeStart: {
    title: "End Time Is Too Early",
    message: "The end time must be after the start time.",
    blame: ["end_time"],
  },
  noBid: {
    subcode: 1815857,
    title: "Bid Amount Required",
    message: "This bid strategy requires a bid amount.",
    blame: ["bid_amount"],
  },
  noPlace: {
    subcode: 1885364,
    title: "Location Is Missing",
    message: "Your ad set's targeting requires geo_locations.",
    blame: ["targeting"],
  },
  noCampaign: {
    title: "Campaign Not Found",
    message: "The campaign does not exist in this account or is deleted.",
    blame: ["campaign_id"],
  },
  noAdSet: {
    title: "Ad Set Not Found",
    message: "The ad set does not exist in this account or is deleted.",
    blame: ["adset_id"],
  },
  noCreative: {
    title: "Creative Not Found",
    message: "creative_id must be the id of an existing creative of this account.",
    blame: ["creative"],
    asText: true,
  },
  noPayer: {
    subcode: 3858152,
    title: "Beneficiary and Payer Are Missing",
    message: "Ads shown in the European Union must name their beneficiary and their payer.",
    blame: ["dsa_beneficiary", "dsa_payor"],
  },
  oddStory: {
    title: "Post Can't Be Created",
    message: "object_story_spec requires a page_id and exactly one kind of content with its required fields.",
    blame: ["object_story_spec"],
  },
  noImage: {
    title: "Image Not Found",
    message: "There is no image with that hash in this account.",
    blame: ["object_story_spec", "image_hash"],
  },
  noVideo: {
    title: "Video Not Found",
    message: "There is no video with that id in this account.",
    blame: ["object_story_spec", "video_id"],
  },
  noThumbnail: {
    subcode: 1443226,
    title: "Your Video Needs a Thumbnail",
    message: "Set image_hash or image_url as the video's thumbnail.",
    blame: ["object_story_spec", "image_hash"],
  },
  videoNotReady: {
    subcode: 1885252,
    title: "Video Not Ready for Use in an Ad",
    message: "The video is still being processed, or its processing failed.",
    blame: ["object_story_spec", "video_id"],
    asText: true,
  },
  notAnImage: {
    subcode: 1487411,
    title: "Image Can't Be Read",
    message: "The file is not an image in a supported format.",
    blame: ["bytes"],
  },
  unchangeable: {
    title: "Can't Be Changed",
    message: "This field cannot be changed after the object is created.",
  },
  deletedCampaign: {
    subcode: 1487566,
    title: "Campaign Is Deleted",
    message: "You can only edit the name of a deleted campaign.",
  },
  deletedAdSet: {
    subcode: 1487056,
    title: "Ad Set Is Deleted",
    message: "You can only edit the name of a deleted ad set.",
  },
  deletedAd: {
    subcode: 1487056,
    title: "Ad Is Deleted",
    message: "You can only edit the name of a deleted ad.",
  },
  archivedAd: {
    subcode: 1885088,
    title: "Ad Is Archived",
    message: "You can only edit the name of an archived ad.",
  },
  budgetChangedTooOften: {
    code: 613,
    subcode: 1487632,
    title: "Budget Changed Too Often",
    message: "You can change the budget of an ad set 4 times an hour. Wait an hour.",
  },
  spendCapChangedTooOften: {
    code: 17,
    subcode: 1885172,
    title: "Spending Limit Changed Too Often",
    message: "You can change the spending limit of an ad account 10 times a day. Wait a day.",
  },
  tooMuchData: {
    subcode: 1487534,
    title: "Too Much Data",
    message: "Reduce the amount of data you request, or request a report.",
  },
} as const satisfies Record<string, Refusal>;

export type RefusalName = keyof typeof REFUSALS;

export function refuse(name: RefusalName, blame?: readonly string[]): GraphError {
  const { code = 100, subcode, title, message, asText, ...rest }: Refusal = REFUSALS[name];
  const fields = blame ?? rest.blame;
  const data = fields && { blame_field_specs: [fields] };
  return new GraphError(code, code === 100 ? "Invalid parameter" : `(#${code}) ${message}`, {
    ...(subcode === undefined ? {} : { subcode }),
    ...(data === undefined ? {} : { data: asText ? JSON.stringify(data) : data }),
    userTitle: title,
    userMessage: message,
  });
}
