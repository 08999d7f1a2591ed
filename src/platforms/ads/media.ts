import { formBody, multipartBody } from "../client/body.ts";
import type { PlatformClient } from "../client/client.ts";
import { asObject, numberOf, omitNullish, textOf } from "../client/json-values.ts";
import { unusableAnswer } from "../errors/failure.ts";
import { type AdAccess, accountSender } from "./access.ts";
import type { Ownership } from "./ownership.ts";

export interface UploadedImage {
  hash: string;
  url?: string;
  width?: number;
  height?: number;
  name?: string;
}

export interface AdMedia {
  /** The same bytes give the same hash, so a second upload does no harm. */
  uploadImage(
    access: AdAccess,
    image: { bytes: Uint8Array; name?: string | undefined },
  ): Promise<UploadedImage>;
  /** The platform fetches the file itself; answers the video's id. */
  registerVideo(access: AdAccess, video: { fileUrl: string; name?: string | undefined }): Promise<string>;
}

export function createAdMedia(client: PlatformClient, ownership: Ownership): AdMedia {
  return {
    async uploadImage(access, { bytes, name = "image" }) {
      const file = { field: "filename", filename: name, type: "application/octet-stream", content: bytes };
      const answer = accountSender(client, access).change(`/${access.account}/adimages`, multipartBody(file));
      const { images } = await answer;
      return toImage(Object.values(asObject(images))[0]); // under the file's name, whatever the platform made of it
    },
    async registerVideo(access, { fileUrl, name }) {
      const body = formBody({ file_url: fileUrl, name });
      const { id } = await accountSender(client, access).create(`/${access.account}/advideos`, body);
      return ownership.remember(access, id);
    },
  };
}

function toImage(value: unknown): UploadedImage {
  const image = asObject(value);
  const hash = textOf(image.hash);
  if (hash === undefined) throw unusableAnswer("The platform took the image and gave no hash");
  const [url, name] = [textOf(image.url), textOf(image.name)];
  return {
    hash,
    ...omitNullish({ url, width: numberOf(image.width), height: numberOf(image.height), name }),
  };
}
