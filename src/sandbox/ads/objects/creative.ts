import { invalidParameter } from "../../wire/graph-error.ts";
import { plainText } from "../../wire/plain-text.ts";
import { CALLS_TO_ACTION, CREATIVE_STATUSES } from "../enumerations.ts";
import { refuse } from "../refusals.ts";
import { list, object, oneOf, text, type Values } from "../values.ts";
import type { AdKind, Rule } from "./ad-kind.ts";

const CONTENT_KINDS = ["link_data", "video_data", "photo_data", "text_data", "template_data"];

/** Required field per kind of content. */
const REQUIRED_CONTENT_FIELDS: Readonly<Record<string, string>> = {
  link_data: "link",
  video_data: "video_id",
};

/** Returns the page and the content of a post; undefined unless it has exactly one content. */
function storyOf(values: Values): { page: string; kind: string; content: Values } | undefined {
  const spec = (values.object_story_spec ?? {}) as Values;
  const [kind = "", ...more] = CONTENT_KINDS.filter((name) => spec[name] !== undefined);
  const content = spec[kind] as Values | null | undefined;
  const page = plainText(spec.page_id ?? "");
  if (!/^\d+$/.test(page) || typeof content !== "object" || content === null || more.length > 0)
    return undefined;
  return { page, kind, content };
}

const requireStory: Rule = ({ values }) => {
  const story = storyOf(values);
  const requiredField = story && REQUIRED_CONTENT_FIELDS[story.kind];
  return story && (requiredField === undefined || story.content[requiredField])
    ? undefined
    : refuse("oddStory");
};

const requireImage: Rule = ({ objects, account, values }) => {
  const hash = storyOf(values)?.content.image_hash;
  return hash === undefined || objects.list(account, "image").some((image) => image.values.hash === hash)
    ? undefined
    : refuse("noImage");
};

const requireReadyVideo: Rule = ({ objects, account, values, before }) => {
  const { kind, content = {} } = storyOf(values) ?? {};
  if (kind !== "video_data" || before) return undefined;
  const video = objects.findIn(account, "video", plainText(content.video_id));
  if (!video) return refuse("noVideo");
  if (video.values.video_status !== "ready") return refuse("videoNotReady");
  return (content.image_hash ?? content.image_url) ? undefined : refuse("noThumbnail");
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
  rules: [requireStory, requireImage, requireReadyVideo, requireKnownCallToAction],
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
