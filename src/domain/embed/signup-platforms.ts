import type { Fields } from "../../platforms/bodies.ts";
import type { PhoneNumber } from "../../platforms/chat/numbers.ts";
import { PlatformFailure } from "../../platforms/errors/failure.ts";
import { CODE_BY_VERDICT } from "../../platforms/errors/verdicts.ts";
import type { GrantedPage } from "../../platforms/pages/pages.ts";
import type { Platforms } from "../../platforms/platforms.ts";
import type { TokenInspection } from "../../platforms/tokens.ts";
import { isPlatformId } from "../../runtime/ids.ts";
import type { SignupErrorCode, SignupStep } from "../../schema/enumerations.ts";
import { toStorable } from "../../schema/storable.ts";
import type { ChannelAsset } from "../channels/channels.ts";

/** A number, page or photo account that a person has granted. */
export interface GrantedAsset {
  asset: ChannelAsset;
  /** The token with which Herald uses the asset. */
  token: string;
  name: string;
  /** Tells assets of the same name apart: the phone number or the user name. */
  detail?: string;
  displayPhoneNumber?: string;
}

/** Everything that a person has granted in one try. */
export interface SignupGrant {
  platformUserId?: string;
  assets: GrantedAsset[];
}

/** The steps of a signup that differ between the platforms. Each throws a PlatformFailure or a SignupError. */
export interface SignupPlatform {
  exchange(code: string): Promise<string>;
  inspect(token: string): Promise<TokenInspection>;
  /** The permissions without which a channel does not work. */
  permissions: readonly string[];
  list(token: string, inspection: TokenInspection): Promise<GrantedAsset[]>;
  subscribe(granted: GrantedAsset): Promise<void>;
}

interface SignupCall {
  /** The dialog's redirect_uri; the exchange must repeat it. */
  redirectUri: string;
  /** Ids for the log. */
  about: Fields;
}

/** A step of a signup cannot succeed for a reason that a person must know. */
export class SignupError extends Error {
  readonly code: SignupErrorCode;

  constructor(code: SignupErrorCode, message: string) {
    super(message);
    this.name = "SignupError";
    this.code = code;
  }
}

/** The failure of a step, as the session and its event show it. */
export interface StepFailure {
  step: SignupStep;
  code: SignupErrorCode;
  message: string;
}

/** Faults of Herald itself reveal nothing. */
export function toStepFailure(step: SignupStep, error: unknown): StepFailure {
  if (error instanceof SignupError) return { step, code: error.code, message: error.message };
  if (error instanceof PlatformFailure) return { step, code: codeOf(error), message: error.message };
  return { step, code: "internal_error", message: "An internal error occurred" };
}

/** The granted token belongs to no channel yet: when it is dead, the person has withdrawn the grant. */
function codeOf({ verdict }: PlatformFailure): SignupErrorCode {
  if (verdict === "token_dead") return "platform_permission_denied";
  return verdict === "no_socket" ? "platform_rate_limited" : CODE_BY_VERDICT[verdict];
}

/** Throws unless the token is valid and has every permission. */
export function checkGrant(inspection: TokenInspection, permissions: readonly string[]): void {
  if (!inspection.valid)
    throw new SignupError(
      "platform_permission_denied",
      "The platform says that the granted token is not valid",
    );
  const missing = permissions.filter((name) => !inspection.scopes.includes(name));
  if (missing.length === 1)
    throw new SignupError("missing_permission", `The permission ${missing[0]} was not granted`);
  if (missing.length > 1)
    throw new SignupError("missing_permission", `The permissions ${missing.join(", ")} were not granted`);
}

const CHAT_PERMISSIONS = ["whatsapp_business_management", "whatsapp_business_messaging"] as const;

/** Each business account costs a call. */
const MAX_BUSINESSES = 20;

type ChatPlatform = Pick<Platforms["chat"], "tokens" | "numbers">;

/** A signup grants business accounts; their phone numbers become channels. */
export function chatSignup(
  { tokens, numbers }: ChatPlatform,
  { redirectUri, about }: SignupCall,
): SignupPlatform {
  return {
    permissions: CHAT_PERMISSIONS,
    exchange: async (code) => (await tokens.exchangeCode(code, redirectUri, about)).token,
    inspect: (token) => tokens.inspect(token, about),
    async list(token, inspection) {
      const wabaIds = (grantedTargets(inspection, CHAT_PERMISSIONS) ?? []).filter(isPlatformId);
      if (wabaIds.length > MAX_BUSINESSES)
        throw new SignupError(
          "platform_invalid_request",
          `More than ${MAX_BUSINESSES} business accounts were granted: grant only the one to connect`,
        );
      const found: GrantedAsset[] = [];
      for (const wabaId of wabaIds) {
        const business = await numbers.listAll({ wabaId, token, about });
        found.push(...business.flatMap((number) => toGrantedNumber({ number, wabaId, token })));
      }
      if (found.length > 0) return found;
      throw new SignupError(
        "platform_object_not_found",
        "The platform names no phone number among the granted business accounts",
      );
    },
    async subscribe({ asset, token }) {
      if (asset.platform === "chatapp") await numbers.subscribe({ wabaId: asset.wabaId, token, about });
    },
  };
}

interface ListedNumber {
  number: PhoneNumber;
  wabaId: string;
  token: string;
}

/** Skips an id that no platform would assign: ids become parts of paths. */
function toGrantedNumber({ number, wabaId, token }: ListedNumber): GrantedAsset[] {
  const { phone_number_id: phoneNumberId, verified_name, display_phone_number } = number;
  if (!isPlatformId(phoneNumberId)) return [];
  const display = display_phone_number === undefined ? undefined : toName(display_phone_number);
  return [
    {
      asset: { platform: "chatapp", phoneNumberId, wabaId },
      token,
      name: toName(verified_name ?? display ?? phoneNumberId),
      ...(display === undefined ? {} : { detail: display, displayPhoneNumber: display }),
    },
  ];
}

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

/** The assets for which all these permissions were granted; undefined when they were granted for all assets. */
function grantedTargets({ granted }: TokenInspection, permissions: readonly string[]): string[] | undefined {
  const lists = granted.flatMap(({ scope, targets }) =>
    targets && permissions.includes(scope) ? [targets] : [],
  );
  return lists.length === 0
    ? undefined
    : lists.reduce((kept, list) => kept.filter((id) => list.includes(id)));
}

const MAX_NAME_CHARS = 200;

/** A name from a platform, in a form that can be stored. */
const toName = (text: string): string => toStorable(text.slice(0, MAX_NAME_CHARS));
