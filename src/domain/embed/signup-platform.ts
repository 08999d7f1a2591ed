import type { Fields } from "../../platforms/client/body.ts";
import type { TokenInspection } from "../../platforms/tokens.ts";
import { toStorable } from "../../schema/storable.ts";
import type { ChannelAsset } from "../channels/channels.ts";
import { SignupError } from "./signup-error.ts";

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

/** What a person has granted in one try. */
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

/** What a signup needs to call a platform. */
export interface SignupCall {
  /** The dialog's redirect_uri; the exchange must repeat it. */
  redirectUri: string;
  /** Ids for the log. */
  about: Fields;
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

/** The assets for which all these permissions were granted; undefined when they were granted for all assets. */
export function grantedTargets(
  { granted }: TokenInspection,
  permissions: readonly string[],
): string[] | undefined {
  const lists = granted.flatMap(({ scope, targets }) =>
    targets && permissions.includes(scope) ? [targets] : [],
  );
  return lists.length === 0
    ? undefined
    : lists.reduce((kept, list) => kept.filter((id) => list.includes(id)));
}

const MAX_NAME_CHARS = 200;

/** A name from a platform, in a form that can be stored. */
export const toName = (text: string): string => toStorable(text.slice(0, MAX_NAME_CHARS));
