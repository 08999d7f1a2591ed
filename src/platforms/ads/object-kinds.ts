import type { Fields } from "../client/body.ts";
import { asObject, omitNullish, textOf } from "../client/json-values.ts";

export type AdObjectKind = "campaigns" | "adsets" | "ads" | "adcreatives";

interface ObjectKind {
  /** What is asked for on every read. */
  fields: readonly string[];
  /** What the platform wants beyond what was given. */
  withDefaults(fields: Fields): Fields;
  /** Types as the specification has them. */
  normalize(row: Fields): Record<string, unknown>;
}

/** Nothing runs, and nothing is spent, before somebody says so. */
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

/** Demanded since v24 of a campaign that has no budget of its own. */
const budgetSharing = ({ daily_budget, lifetime_budget }: Fields): Fields =>
  daily_budget === undefined && lifetime_budget === undefined
    ? { is_adset_budget_sharing_enabled: false }
    : {};

/** Written as `creative_id`, read as `id`. */
function toCreativeRef(value: unknown): Record<string, unknown> {
  const { id, name, thumbnail_url } = asObject(value);
  return omitNullish({ creative_id: textOf(id), name, thumbnail_url });
}
