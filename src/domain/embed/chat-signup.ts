import type { PhoneNumber } from "../../platforms/chat/numbers.ts";
import type { Platforms } from "../../platforms/platforms.ts";
import { isPlatformId } from "../../runtime/ids.ts";
import { SignupError } from "./signup-error.ts";
import {
  type GrantedAsset,
  grantedTargets,
  type SignupCall,
  type SignupPlatform,
  toName,
} from "./signup-platform.ts";

const PERMISSIONS = ["whatsapp_business_management", "whatsapp_business_messaging"] as const;

/** Each business account costs a call. */
const MAX_BUSINESSES = 20;

type ChatPlatform = Pick<Platforms["chat"], "tokens" | "numbers">;

/** A signup grants business accounts; their phone numbers become channels. */
export function chatSignup(
  { tokens, numbers }: ChatPlatform,
  { redirectUri, about }: SignupCall,
): SignupPlatform {
  return {
    permissions: PERMISSIONS,
    exchange: async (code) => (await tokens.exchangeCode(code, redirectUri, about)).token,
    inspect: (token) => tokens.inspect(token, about),
    async list(token, inspection) {
      const wabaIds = (grantedTargets(inspection, PERMISSIONS) ?? []).filter(isPlatformId);
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
