import type { GrantedPage } from "../../platforms/pages/pages.ts";
import type { Platforms } from "../../platforms/platforms.ts";
import type { TokenInspection } from "../../platforms/tokens.ts";
import { isPlatformId } from "../../runtime/ids.ts";
import type { ChannelAsset } from "../channels/channels.ts";
import { SignupError } from "./signup-error.ts";
import {
  type GrantedAsset,
  grantedTargets,
  type SignupCall,
  type SignupPlatform,
  toName,
} from "./signup-platform.ts";

const PAGE_PERMISSIONS = ["pages_show_list", "pages_messaging", "pages_manage_metadata"] as const;
const PHOTO_PERMISSIONS = ["instagram_basic", "instagram_manage_messages"] as const;

/** The permissions that the dialog requests, for pages and photo accounts alike. */
export const DIALOG_PERMISSIONS = [...PAGE_PERMISSIONS, ...PHOTO_PERMISSIONS] as const;

type PagePlatform = "photoapp" | "socialapp";

/** A signup grants pages; a page or its photo account becomes a channel, which uses the page's token. */
export function pageSignup(
  { tokens, pages }: Pick<Platforms["social"], "tokens" | "pages">,
  platform: PagePlatform,
  { redirectUri, about }: SignupCall,
): SignupPlatform {
  return {
    permissions: platform === "photoapp" ? DIALOG_PERMISSIONS : PAGE_PERMISSIONS,
    // The tokens of pages expire together with a short-lived token of the person.
    async exchange(code) {
      const { token } = await tokens.exchangeCode(code, redirectUri, about);
      return (await tokens.prolong(token, about)).token;
    },
    inspect: (token) => tokens.inspect(token, about),
    async list(token, inspection) {
      const listed = (await pages.listAll(token, about)).flatMap((page) => toGrantedPage(page, platform));
      const found = listed.filter(({ asset }) => isGranted(asset, inspection));
      if (found.length > 0) return found;
      throw new SignupError("platform_object_not_found", NOTHING_GRANTED[platform]);
    },
    async subscribe({ asset, token }) {
      if (asset.platform !== "chatapp") await pages.subscribe({ pageId: asset.pageId, token, about });
    },
  };
}

const NOTHING_GRANTED: Readonly<Record<PagePlatform, string>> = {
  photoapp: "None of the granted pages has a photo account for which all permissions were granted",
  socialapp: "The platform names no page for which all permissions were granted",
};

/** The person may have granted some permissions for other pages only. */
function isGranted(asset: ChannelAsset, inspection: TokenInspection): boolean {
  if (asset.platform === "chatapp") return false;
  const isTarget = (permissions: readonly string[], ...ids: string[]) => {
    const targets = grantedTargets(inspection, permissions);
    return targets === undefined || ids.some((id) => targets.includes(id));
  };
  if (!isTarget(PAGE_PERMISSIONS, asset.pageId)) return false;
  return asset.platform === "socialapp" || isTarget(PHOTO_PERMISSIONS, asset.photoappUserId, asset.pageId);
}

function toGrantedPage(page: GrantedPage, platform: PagePlatform): GrantedAsset[] {
  const { page_id: pageId, token, name, photoapp_user_id: photoappUserId, username } = page;
  if (!isPlatformId(pageId)) return [];
  const common = { token, name: toName(name ?? pageId) };
  if (platform === "socialapp") return [{ ...common, asset: { platform, pageId } }];
  if (photoappUserId === undefined || !isPlatformId(photoappUserId)) return [];
  const detail = username === undefined ? {} : { detail: toName(`@${username}`) };
  return [{ ...common, ...detail, asset: { platform, photoappUserId, pageId } }];
}
