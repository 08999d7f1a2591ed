import type { UploadedImage } from "../../platforms/ads/media.ts";
import { type AdAccountAccess, callForAccount } from "./ad-account-access.ts";
import type { AdObjectParts } from "./ad-objects.ts";
import type { DecodedImage } from "./image-decoder.ts";

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
