import { SECOND } from "../../runtime/durations.ts";
import { canonicalJson } from "../../runtime/json/json.ts";
import { asObject, type Fields, omitNullish, textOf } from "../bodies.ts";

/** The kinds of ad objects, named like their edges at the platform. */
export type AdObjectKind = "campaigns" | "adsets" | "ads" | "adcreatives";

/** An ad object as the API shows it. */
export type AdObject = Fields & { id: string };

/** A create without an answer: what it sent, and when. */
export interface UnansweredCreate {
  fields: Fields;
  since: Date;
}

/** `unclear`: the object could be the one, but nothing proves it. */
export type Recognition = "same" | "different" | "unclear";

interface ObjectKind {
  /** Fields requested on every read. */
  fields: readonly string[];
  /** A field that no other kind has. Reading it proves that an id belongs to an object of this kind. */
  ownField: string;
  /** Fields that name the parents of a listed object, the closest first. */
  parents: readonly string[];
  /** Ids of other objects in the fields of a write. They must belong to the same account. */
  references(fields: Fields): unknown[];
  /** Decides whether a listed object is the one that an unanswered create may have made. */
  recognize(row: Fields, created: UnansweredCreate): Recognition;
  /** Adds the fields the platform requires on create. */
  withDefaults(fields: Fields): Fields;
  /** Converts a platform row to the types of the API specification. */
  normalize(row: Fields): Fields;
}

/** Creates objects paused by default, so that no money is spent until the client activates them. */
const withPausedStatus = (fields: Fields): Fields => ({ status: "PAUSED", ...fields });

/** Ids and amounts are strings in the API, but the platform sends some of them as numbers. */
const withTexts = (row: Fields): Fields =>
  Object.fromEntries(Object.entries(omitNullish(row)).map(([name, value]) => [name, textOf(value) ?? value]));

export const OBJECT_KINDS: Readonly<Record<AdObjectKind, ObjectKind>> = {
  campaigns: {
    fields: words(
      "id name objective status effective_status special_ad_categories special_ad_category_country buying_type daily_budget lifetime_budget spend_cap bid_strategy start_time stop_time created_time updated_time",
    ),
    ownField: "objective",
    parents: [],
    references: () => [],
    recognize: recognizeByTime,
    withDefaults: (fields) => ({
      special_ad_categories: [],
      ...budgetSharing(fields),
      ...withPausedStatus(fields),
    }),
    normalize: withTexts,
  },
  adsets: {
    fields: words(
      "id name campaign_id status effective_status daily_budget lifetime_budget billing_event optimization_goal bid_amount bid_strategy start_time end_time targeting promoted_object destination_type created_time updated_time",
    ),
    ownField: "billing_event",
    parents: ["campaign_id"],
    references: ({ campaign_id }) => [campaign_id],
    recognize: recognizeByTime,
    withDefaults: withPausedStatus,
    normalize: withTexts,
  },
  ads: {
    fields: words(
      "id name adset_id campaign_id status effective_status creative{id,name,thumbnail_url} created_time updated_time",
    ),
    ownField: "adset_id",
    parents: ["adset_id", "campaign_id"],
    references: ({ adset_id, creative }) => [adset_id, asObject(creative).creative_id],
    recognize: recognizeByTime,
    withDefaults: withPausedStatus,
    normalize: ({ creative, ...row }) =>
      withTexts({ ...row, creative: creative === undefined ? undefined : toCreativeRef(creative) }),
  },
  adcreatives: {
    fields: words(
      "id name status object_story_spec object_story_id effective_object_story_id thumbnail_url image_hash image_url video_id call_to_action_type",
    ),
    ownField: "object_story_spec",
    parents: [],
    references: () => [],
    recognize: recognizeByContent,
    withDefaults: (fields) => fields,
    normalize: withTexts,
  },
};

function words(text: string): string[] {
  return text.split(" ");
}

/** By name, parents and creation time, which the platform cuts to the second. */
function recognizeByTime(row: Fields, { fields, since }: UnansweredCreate): Recognition {
  const isEqual = ["name", "campaign_id", "adset_id"].every(
    (field) => fields[field] === undefined || fields[field] === row[field],
  );
  const isRecent = Date.parse(String(row.created_time)) >= Math.floor(since.getTime() / SECOND) * SECOND;
  return isEqual && isRecent ? "same" : "different";
}

/** By name and content: creatives have no creation time. */
function recognizeByContent(row: Fields, { fields }: UnansweredCreate): Recognition {
  if (fields.name !== row.name) return "different";
  return jsonEquals(fields.object_story_spec, row.object_story_spec) ? "same" : "unclear";
}

const jsonEquals = (one: unknown, other: unknown): boolean =>
  [...canonicalJson(one)].join("") === [...canonicalJson(other)].join("");

/** Required since v24 for a campaign without a budget. */
const budgetSharing = ({ daily_budget, lifetime_budget }: Fields): Fields =>
  daily_budget === undefined && lifetime_budget === undefined
    ? { is_adset_budget_sharing_enabled: false }
    : {};

/** The platform takes `creative_id` on write but returns `id` on read. */
function toCreativeRef(value: unknown): Fields {
  const { id, creative_id, name, thumbnail_url } = asObject(value);
  return omitNullish({ creative_id: textOf(id ?? creative_id), name, thumbnail_url });
}

/** Returns an object as far as a write shows it: its id and the written fields that the API shows. */
export function toWritten(kind: AdObjectKind, id: string, written: Fields): AdObject {
  const { fields, normalize } = OBJECT_KINDS[kind];
  const names = fields.map((field) => field.split("{")[0] as string);
  const known = names.filter((name) => name in written).map((name) => [name, written[name]]);
  return { ...normalize(Object.fromEntries(known)), id };
}
