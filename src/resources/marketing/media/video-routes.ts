import type { AdObjectParts } from "../../../domain/ads/ad-objects.ts";
import { readVideo, registerVideo } from "../../../domain/ads/videos.ts";
import { requestActor, toRequester } from "../../../domain/tenants/request-actor.ts";
import { ApiError } from "../../../http/api-error.ts";
import { type Route, route } from "../../../http/route.ts";
import { object } from "../../../schema/types.ts";
import type { SecretBox } from "../../../security/secret-box.ts";
import { adAccountId } from "../ad-object-fields.ts";
import { createOnce } from "../create-once.ts";
import { ACCOUNT_ERRORS, requireActiveAdAccount } from "../require-ad-account.ts";
import { newVideo, uploadedVideo, video, videoParams } from "./schema.ts";

export interface VideoParts extends Omit<AdObjectParts, "db"> {
  secretBox: SecretBox;
}

export const videoRoutes = (parts: VideoParts): Route[] => [registerRoute(parts), readRoute(parts)];

const registerRoute = (parts: VideoParts) =>
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
      return createOnce(own, context, async (attempt) => {
        const account = await requireActiveAdAccount(own, actor, ad_account_id);
        return registerVideo(own, account, { actor, fileUrl, name, attempt });
      });
    },
  });

const readRoute = (parts: VideoParts) =>
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
