import { VIDEO_STATUSES } from "../../../schema/ad-enumerations.ts";
import { object, oneOf, optional, type Static, Type, text } from "../../../schema/types.ts";
import { adAccountId, platformId, requestText } from "../ad-object-fields.ts";

/** A PNG of one pixel. */
const PIXEL =
  "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNkYPhfDwAChwGA60e6kgAAAABJRU5ErkJggg==";

export const newImage = object(
  {
    ad_account_id: adAccountId,
    // No minLength: the validator would count the characters one by one.
    bytes_base64: Type.String({
      description: "The file in strict base64, without a `data:` prefix. The file has at most 7 MiB",
      examples: [PIXEL],
    }),
    ...optional({ name: requestText("cup.png", "The name of the file") }),
  },
  { title: "UploadImageDto" },
);

export type NewImage = Static<typeof newImage>;

export const uploadedImage = object(
  {
    hash: text("2dd5a6417c24b8a4e6374de0b6960a6d", "Names the image in `link_data.image_hash` of a creative"),
    ...optional({
      url: text("https://scontent.example/images/2dd5a641", "Where the ad platform serves the image"),
      width: Type.Number({ examples: [1_200], description: "In pixels" }),
      height: Type.Number({ examples: [628], description: "In pixels" }),
      name: text("cup.png"),
    }),
  },
  { title: "UploadedImageDto" },
);

/** Bounds the text before its pattern is evaluated. */
const MAX_URL_CHARS = 2_048;

export const newVideo = object(
  {
    ad_account_id: adAccountId,
    file_url: Type.String({
      pattern: "^https?://",
      format: "uri",
      maxLength: MAX_URL_CHARS,
      description: "A public http or https URL, from which the ad platform downloads the video",
      examples: ["https://shop.example/video.mp4"],
      "x-message": `file_url must be an http or https URL of at most ${MAX_URL_CHARS} characters`,
    }),
    ...optional({ name: requestText("How we roast", "The title of the video") }),
  },
  { title: "UploadVideoDto" },
);

export const uploadedVideo = object(
  { id: platformId("1100000000000601", "Names the video in `video_data.video_id` of a creative") },
  { title: "UploadedVideoDto" },
);

export const videoParams = object({ id: platformId("1100000000000601", "The video's id") });

export const video = object(
  {
    id: platformId("1100000000000601"),
    status: oneOf(VIDEO_STATUSES, {
      description: "A video can be used in a creative once it is `ready`",
      examples: ["processing"],
    }),
    progress: Type.Integer({
      minimum: 0,
      maximum: 100,
      description: "Percentage of the processing that is done",
      examples: [40],
    }),
    errors: Type.Array(
      object({
        code: Type.Optional(Type.Integer({ examples: [1_363_008] })),
        message: text("The video file you tried to upload could not be read."),
      }),
      { description: "Why the platform could not process the video", examples: [[]] },
    ),
  },
  { title: "VideoDto" },
);
