import { type DecodedImage, type ImageDecoder, MAX_IMAGE_BYTES } from "../../../domain/ads/base64-images.ts";
import { readVideo, registerVideo, uploadImage } from "../../../domain/ads/media.ts";
import { requestActor, toRequester } from "../../../domain/tenants/audit-actors.ts";
import { ApiError, invalidFields } from "../../../http/api-error.ts";
import { MAX_BODY_BYTES, type Route, route } from "../../../http/route.ts";
import { object } from "../../../schema/types.ts";
import { adAccountId } from "../ad-object-fields.ts";
import type { AdObjectRouteParts } from "../ad-object-routes.ts";
import { createOnce } from "../create-once.ts";
import { ACCOUNT_ERRORS, requireActiveAdAccount } from "../require-ad-account.ts";
import { newImage, newVideo, uploadedImage, uploadedVideo, video, videoParams } from "./schema.ts";

export interface MediaParts extends AdObjectRouteParts {
  images: ImageDecoder;
}

export const mediaRoutes = (parts: MediaParts): Route[] => [
  imageRoute(parts),
  registerVideoRoute(parts),
  readVideoRoute(parts),
];

export const imageRoute = (parts: MediaParts) =>
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
      const image = await decodeImage(parts.images, body, {
        clientId: caller.clientId,
        signal: callerGone(),
      });
      const own = { ...parts, db: context.db };
      const account = await requireActiveAdAccount(own, toRequester(context), image.adAccountId);
      return uploadImage(own, account, image);
    },
  });

async function decodeImage(
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

const registerVideoRoute = (parts: AdObjectRouteParts) =>
  route({
    method: "post",
    path: "/api/marketing/videos",
    operationId: "registerVideo",
    scope: "marketing:manage",
    gate: "terms",
    summary: "Register a video that the ad platform downloads from a public URL",
    description:
      "The platform processes the video in the background: read it until its status is `ready`. After 504 the video may exist at the platform. A repetition with the same Idempotency-Key then stays 504, because the platform cannot be asked; another key registers another video.",
    idempotent: "claimed_operations",
    errors: ACCOUNT_ERRORS,
    body: newVideo,
    status: 200,
    reply: uploadedVideo,
    handle(context) {
      const { ad_account_id, file_url: fileUrl, name } = context.body;
      const actor = requestActor(context);
      const own = { ...parts, db: context.db };
      return createOnce(own, context, async (run) => {
        const account = await requireActiveAdAccount(own, actor, ad_account_id);
        return registerVideo(own, account, { actor, fileUrl, name, run });
      });
    },
  });

const readVideoRoute = (parts: AdObjectRouteParts) =>
  route({
    method: "get",
    path: "/api/marketing/videos/{id}",
    operationId: "getVideo",
    scope: "marketing:read",
    summary: "Read how far the processing of a video is",
    description:
      "Only videos that your client registered through this API in the ad account within the last 90 days are found.",
    errors: ACCOUNT_ERRORS,
    params: videoParams,
    query: object({ ad_account_id: adAccountId }),
    reply: video,
    async handle(context) {
      const { params, query } = context;
      const own = { ...parts, db: context.db };
      const account = await requireActiveAdAccount(own, toRequester(context), query.ad_account_id);
      const found = await readVideo(own, account, params.id);
      if (!found) throw new ApiError("platform_object_not_found", "The ad account has no such video");
      return found;
    },
  });
