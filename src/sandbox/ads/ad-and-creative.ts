import { invalidParameter } from "../graph/graph-error.ts";
import { isObject, plainText } from "../graph/params.ts";
import { CALLS_TO_ACTION, CREATIVE_STATUSES, EU_COUNTRIES, STATUSES } from "./enumerations.ts";
import { type AdKind, DELIVERY_FIELDS, type Draft, type Rule, requireActiveOrPaused } from "./objects.ts";
import { refuse } from "./refusals.ts";
import { list, object, oneOf, text, type Values } from "./values.ts";

const adSetOf = ({ objects, account, values }: Draft) =>
  objects.findIn(account, "adset", String(values.adset_id));

const requireAdSet: Rule = (draft) => {
  const adSet = adSetOf(draft);
  return draft.before || (adSet && adSet.values.status !== "DELETED") ? undefined : refuse("noAdSet");
};

const creativeIdOf = (values: Values) => plainText((values.creative as Values).creative_id ?? "");

const requireCreative: Rule = ({ objects, account, values, changes }) => {
  if (changes.creative === undefined) return undefined;
  const found = objects.findIn(account, "creative", creativeIdOf(values));
  return found && found.values.status !== "DELETED" ? undefined : refuse("noCreative");
};

/** Returns every country that the targeting names, directly or through a region or city. */
function countriesOf(targeting: unknown): unknown[] {
  const {
    countries = [],
    country_groups = [],
    ...places
  } = ((targeting as Values).geo_locations ?? {}) as Values;
  const inPlaces = Object.values(places)
    .flat()
    .map((place) => (place as Values | null)?.country);
  return [countries, country_groups, inPlaces].flat();
}

const EU_LOCATIONS: readonly unknown[] = [...EU_COUNTRIES, "europe", "eea", "worldwide"];

const requirePayer: Rule = (draft) => {
  if (draft.before) return undefined;
  const { targeting, dsa_beneficiary, dsa_payor } = adSetOf(draft)?.values ?? {};
  if (dsa_beneficiary !== undefined && dsa_payor !== undefined) return undefined;
  return countriesOf(targeting).some((country) => EU_LOCATIONS.includes(country))
    ? refuse("noPayer")
    : undefined;
};

export const ad: AdKind = {
  kind: "ad",
  type: "Ad",
  params: {
    name: text,
    adset_id: text,
    creative: object,
    status: oneOf(STATUSES),
    tracking_specs: list,
  },
  required: ["name", "adset_id", "creative"],
  immutable: ["adset_id"],
  defaults: { status: "ACTIVE" },
  rules: [requireActiveOrPaused, requireAdSet, requireCreative, requirePayer],
  computedFields: {
    ...DELIVERY_FIELDS,
    campaign_id: (self, objects) => objects.lineage(self).at(-1)?.id,
    creative: ({ values }) => ({ id: creativeIdOf(values) }),
  },
  defaultFields: [],
  frozen: { DELETED: "deletedAd", ARCHIVED: "archivedAd" },
};

/** Required field per kind of content. */
const REQUIRED_CONTENT_FIELDS: Readonly<Record<string, string>> = {
  link_data: "link",
  video_data: "video_id",
};

const requireStory: Rule = ({ values }) => {
  const story = storyOf(values);
  const requiredField = story && REQUIRED_CONTENT_FIELDS[story.kind];
  return story && (requiredField === undefined || story.content[requiredField])
    ? undefined
    : refuse("oddStory");
};

const partsOf = (values: Values) => storyOf(values)?.parts ?? [];

const requireImages: Rule = ({ objects, account, values }) => {
  const known = new Set(objects.list(account, "image").map((image) => image.values.hash));
  return partsOf(values).every(({ image_hash }) => image_hash === undefined || known.has(image_hash))
    ? undefined
    : refuse("noImage");
};

const requireReadyVideos: Rule = ({ objects, account, values }) => {
  const videos = partsOf(values)
    .filter(({ video_id }) => video_id !== undefined)
    .map(({ video_id }) => objects.findIn(account, "video", plainText(video_id)));
  if (videos.includes(undefined)) return refuse("noVideo");
  return videos.every((video) => video?.values.video_status === "ready")
    ? undefined
    : refuse("videoNotReady");
};

const requireThumbnail: Rule = ({ values }) => {
  const { kind, content = {} } = storyOf(values) ?? {};
  return kind !== "video_data" || (content.image_hash ?? content.image_url)
    ? undefined
    : refuse("noThumbnail");
};

const callToActionTypeOf = (values: Values) =>
  (storyOf(values)?.content.call_to_action as Values | undefined)?.type;

const requireKnownCallToAction: Rule = ({ values }) => {
  const type = callToActionTypeOf(values);
  return type === undefined || (CALLS_TO_ACTION as readonly unknown[]).includes(type)
    ? undefined
    : invalidParameter(
        `Param object_story_spec[call_to_action][type] must be one of {${CALLS_TO_ACTION.join(", ")}}`,
      );
};

const contentField =
  (name: string) =>
  ({ values }: { values: Values }) =>
    storyOf(values)?.content[name];

export const creative: AdKind = {
  kind: "creative",
  type: "AdCreative",
  params: {
    name: text,
    status: oneOf(CREATIVE_STATUSES),
    adlabels: list,
    object_story_spec: object,
    degrees_of_freedom_spec: object,
  },
  required: ["object_story_spec"],
  immutable: ["object_story_spec", "degrees_of_freedom_spec"],
  defaults: { status: "ACTIVE" },
  rules: [requireStory, requireImages, requireReadyVideos, requireThumbnail, requireKnownCallToAction],
  computedFields: {
    // Set only on a creative made from an existing post, which the sandbox does not support.
    object_story_id: () => undefined,
    effective_object_story_id: ({ id, values }) => `${storyOf(values)?.page}_${id.slice(-15)}`,
    thumbnail_url: ({ id }) => `https://scontent.sandbox.example/thumbnails/${id}.jpg`,
    image_hash: contentField("image_hash"),
    image_url: ({ values }) => {
      const { picture, image_url } = storyOf(values)?.content ?? {};
      return picture ?? image_url;
    },
    video_id: contentField("video_id"),
    call_to_action_type: ({ values }) => callToActionTypeOf(values),
  },
  defaultFields: ["name", "status", "thumbnail_url"],
  frozen: {},
};

const CONTENT_KINDS = ["link_data", "video_data", "photo_data", "text_data", "template_data"];

/** The post that a creative makes. */
interface Story {
  page: string;
  kind: string;
  content: Values;
  /** The content, then the cards of its carousel. Each can name an image and a video. */
  parts: readonly Values[];
}

/** Returns the story; undefined unless it has a page and exactly one content with valid cards. */
function storyOf(values: Values): Story | undefined {
  const spec = (values.object_story_spec ?? {}) as Values;
  const [kind = "", ...more] = CONTENT_KINDS.filter((name) => spec[name] !== undefined);
  const content = spec[kind];
  const page = plainText(spec.page_id ?? "");
  if (!/^\d+$/.test(page) || !isObject(content) || more.length > 0) return undefined;
  const cards = content.child_attachments ?? [];
  if (!Array.isArray(cards) || !cards.every(isObject)) return undefined;
  return { page, kind, content, parts: [content, ...cards] };
}
