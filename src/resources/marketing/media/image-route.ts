import type { AdObjectParts } from "../../../domain/ads/ad-objects.ts";
import { type DecodedImage, type ImageDecoder, MAX_IMAGE_BYTES } from "../../../domain/ads/image-decoder.ts";
import { uploadImage } from "../../../domain/ads/images.ts";
import { toRequester } from "../../../domain/tenants/request-actor.ts";
import { ApiError, invalidFields } from "../../../http/api-error.ts";
import { MAX_BODY_BYTES, route } from "../../../http/route.ts";
import type { SecretBox } from "../../../security/secret-box.ts";
import { ACCOUNT_ERRORS, requireActiveAdAccount } from "../require-ad-account.ts";
import { newImage, uploadedImage } from "./schema.ts";

export interface ImageParts extends Omit<AdObjectParts, "db"> {
  secretBox: SecretBox;
  images: ImageDecoder;
}

export const imageRoute = (parts: ImageParts) =>
  route({
    method: "post",
    path: "/api/marketing/images",
    operationId: "uploadImage",
    scope: "marketing:manage",
    gate: "terms",
    summary: "Upload an image to the library of an ad account",
    description:
      "The ad platform decides which formats it accepts. Uploading the same file again returns the same `hash`.",
    errors: [...ACCOUNT_ERRORS, "invalid_image", "image_too_large"],
    body: { limit: MAX_BODY_BYTES, part: "handedOn", schema: newImage },
    // The platform derives the hash from the bytes, so a repeated upload has no further effect.
    repeatable: true,
    reply: uploadedImage,
    async handle(context) {
      const { caller, body, callerGone } = context;
      const image = await decode(parts.images, body, { clientId: caller.clientId, signal: callerGone() });
      const own = { ...parts, db: context.db };
      const account = await requireActiveAdAccount(own, toRequester(context), image.adAccountId);
      return uploadImage(own, account, image);
    },
  });

async function decode(
  images: ImageDecoder,
  ...input: Parameters<ImageDecoder["decode"]>
): Promise<DecodedImage> {
  const decoded = await images.decode(...input);
  switch (decoded.outcome) {
    case "decoded":
      return decoded.image;
    case "invalid_body":
      throw new ApiError(
        "validation_failed",
        decoded.message,
        decoded.details && { details: decoded.details },
      );
    case "invalid_base64":
      throw invalidFields([
        {
          path: "/bytes_base64",
          message:
            "bytes_base64 must be strict base64: send the base64 text without the data: prefix and without line breaks",
          code: "invalid_image",
        },
      ]);
    case "too_large":
      throw new ApiError("image_too_large", `The image is larger than ${MAX_IMAGE_BYTES} bytes`);
  }
}
