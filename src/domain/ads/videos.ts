import type { AdVideo } from "../../platforms/ads/media.ts";
import { hasAdVideo, insertAdVideo } from "../../store/ads/ad-videos.ts";
import { DatabaseUnavailable } from "../../store/database/faults.ts";
import { type AdAccountAccess, callForAccount } from "./ad-account-access.ts";
import type { AdObjectParts } from "./ad-objects.ts";

export type RegisterVideoOutcome =
  | { outcome: "registered"; id: string }
  /** The video exists at the platform, but cannot be read through Herald. */
  | { outcome: "not_recorded"; id: string; cause: DatabaseUnavailable };

/** Registers a video that the platform downloads, and records that it belongs to the client's account. */
export async function registerVideo(
  parts: AdObjectParts,
  account: AdAccountAccess,
  video: { fileUrl: string; name?: string | undefined },
): Promise<RegisterVideoOutcome> {
  const { media } = parts.platforms.ads;
  const id = await callForAccount(parts, account, () => media.registerVideo(account.access, video));
  const { client_id, ad_account_id: adAccountId } = account.row;
  try {
    await insertAdVideo(parts.db, client_id, { adAccountId, videoId: id });
    return { outcome: "registered", id };
  } catch (cause) {
    if (!(cause instanceof DatabaseUnavailable)) throw cause;
    return { outcome: "not_recorded", id, cause };
  }
}

/** Undefined for a video that the client did not register in this account; the platform is not called then. */
export async function readVideo(
  parts: AdObjectParts,
  account: AdAccountAccess,
  id: string,
): Promise<AdVideo | undefined> {
  const { client_id, ad_account_id: adAccountId } = account.row;
  if (!(await hasAdVideo(parts.db, client_id, { adAccountId, videoId: id }))) return undefined;
  return callForAccount(parts, account, () => parts.platforms.ads.media.readVideo(account.access, id));
}
