import { invalidParameter } from "../../wire/graph-error.ts";
import { plainText } from "../../wire/plain-text.ts";
import { CALLS_TO_ACTION, CREATIVE_STATUSES } from "../enumerations.ts";
import { refuse } from "../refusals.ts";
import { list, object, oneOf, text, type Values } from "../values.ts";
import type { AdKind, Rule } from "./ad-kind.ts";
import { storyOf } from "./story.ts";

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
