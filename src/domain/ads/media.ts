import type { AdVideo, UploadedImage } from "../../platforms/ads/media.ts";
import { ambiguousFailure, isAmbiguous, unconfirmedCreate } from "../../platforms/errors/failure.ts";
import { hasAdVideo, insertAdVideo } from "../../store/ads/ad-videos.ts";
import { DatabaseUnavailable } from "../../store/database/faults.ts";
import type { AuditActor } from "../../store/tenants/audit-log.ts";
import type { Created, OperationRun } from "../tenants/run-once.ts";
import { type AdAccountAccess, callForAccount } from "./ad-account-access.ts";
import { type AdObjectParts, recordAmbiguousCreate } from "./ad-objects.ts";
import type { DecodedImage } from "./base64-images.ts";

/** Uploads the image to the account's library. The platform often omits the size; it is then the one in the file. */
export async function uploadImage(
  parts: AdObjectParts,
  account: AdAccountAccess,
  { bytes, name, width, height }: DecodedImage,
): Promise<UploadedImage> {
  const { media } = parts.platforms.ads;
  const uploaded = await callForAccount(parts, account, () =>
    media.uploadImage(account.access, { bytes: new Uint8Array(bytes), name }),
  );
  return { ...(width && height ? { width, height } : {}), ...uploaded };
}

interface VideoCreation {
  actor: AuditActor;
  fileUrl: string;
  name?: string | undefined;
  run: OperationRun;
}

/**
 * Registers a video that the platform downloads, and records that it belongs to the client's account. An earlier run
 * that may have registered it cannot be verified, so that its outcome stays ambiguous.
 */
export async function registerVideo(
  parts: AdObjectParts,
  account: AdAccountAccess,
  { actor, fileUrl, name, run }: VideoCreation,
): Promise<Created<{ id: string }>> {
  const recordAmbiguity = () => recordAmbiguousCreate(parts, account, { actor, kind: "advideos", name });
  if (run.isAbandoned) await recordAmbiguity();
  if (run.ambiguousSince !== undefined) throw unconfirmedCreate();
  const video = { fileUrl, name, beforeCall: run.confirm };
  try {
    const { media } = parts.platforms.ads;
    const id = await callForAccount(parts, account, () => media.registerVideo(account.access, video));
    await recordVideo(parts, account, id);
    return { reply: { id }, isFound: false };
  } catch (error) {
    if (isAmbiguous(error)) await recordAmbiguity();
    throw error;
  }
}

/** Without its row, the video can be used but not read through Herald: registering it again would double it. */
async function recordVideo({ db }: AdObjectParts, { row }: AdAccountAccess, id: string): Promise<void> {
  try {
    await insertAdVideo(db, row.client_id, { adAccountId: row.ad_account_id, videoId: id });
  } catch (error) {
    if (!(error instanceof DatabaseUnavailable)) throw error;
    throw ambiguousFailure(`The platform registered the video as ${id}, but the database did not store it`);
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
