import type { Fields } from "../client/body.ts";
import { asObject, omitNullish, textOf } from "../client/json-values.ts";

export type AdObjectKind = "campaigns" | "adsets" | "ads" | "adcreatives";

interface ObjectKind {
  /** Fields requested on every read. */
  fields: readonly string[];
  /** Adds the fields the platform requires on create. */
  withDefaults(fields: Fields): Fields;
  /** Converts a platform row to the types of the API specification. */
  normalize(row: Fields): Record<string, unknown>;
}

/** Creates objects paused by default, so that no money is spent until the client activates them. */
const withPausedStatus = (fields: Fields): Fields => ({ status: "PAUSED", ...omitNullish(fields) });

export const OBJECT_KINDS: Readonly<Record<AdObjectKind, ObjectKind>> = {
  campaigns: {
    fields: words(
      "id name objective status effective_status special_ad_categories buying_type daily_budget lifetime_budget spend_cap bid_strategy start_time stop_time created_time updated_time",
    ),
    withDefaults: (fields) => ({
      special_ad_categories: [],
      ...budgetSharing(fields),
      ...withPausedStatus(fields),
    }),
    normalize: omitNullish,
  },
  adsets: {
    fields: words(
      "id name campaign_id status effective_status daily_budget lifetime_budget billing_event optimization_goal bid_amount bid_strategy start_time end_time targeting promoted_object created_time updated_time",
    ),
    withDefaults: withPausedStatus,
    normalize: (row) => omitNullish({ ...row, bid_amount: textOf(row.bid_amount) }),
  },
  ads: {
    fields: words(
      "id name adset_id campaign_id status effective_status creative{id,name,thumbnail_url} created_time updated_time",
    ),
    withDefaults: withPausedStatus,
    normalize: (row) =>
      omitNullish({ ...row, creative: row.creative ? toCreativeRef(row.creative) : undefined }),
  },
  adcreatives: {
    fields: words(
      "id name status object_story_spec object_story_id effective_object_story_id thumbnail_url image_hash image_url video_id call_to_action_type",
    ),
    withDefaults: omitNullish,
    normalize: omitNullish,
  },
};

function words(text: string): string[] {
  return text.split(" ");
}

/** Required since v24 for a campaign without a budget. */
const budgetSharing = ({ daily_budget, lifetime_budget }: Fields): Fields =>
  daily_budget === undefined && lifetime_budget === undefined
    ? { is_adset_budget_sharing_enabled: false }
    : {};

/** The platform takes `creative_id` on write but returns `id` on read. */
function toCreativeRef(value: unknown): Record<string, unknown> {
  const { id, name, thumbnail_url } = asObject(value);
  return omitNullish({ creative_id: textOf(id), name, thumbnail_url });
}
