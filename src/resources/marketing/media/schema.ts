import { object, optional, type Static, Type } from "../../../schema/types.ts";
import { adAccountId, requestText, text } from "../ad-object-fields.ts";

/** A PNG of one pixel. */
const PIXEL =
  "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNkYPhfDwAChwGA60e6kgAAAABJRU5ErkJggg==";

export const newImage = object(
  {
    ad_account_id: adAccountId,
    bytes_base64: Type.String({
      minLength: 1,
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
