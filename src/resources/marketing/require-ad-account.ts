import {
  type AdAccountAccess,
  type OpenActiveAdAccountOutcome,
  openActiveAdAccount,
  openAdAccount,
} from "../../domain/ads/ad-account-access.ts";
import { ApiError, type ErrorCode, notFound, PLATFORM_REFUSALS } from "../../http/api-error.ts";

/** Error codes of a request that uses an active ad account at the platform. */
export const ACCOUNT_ERRORS: readonly ErrorCode[] = [
  "not_found",
  "ad_account_not_active",
  "ad_account_revoked",
  ...PLATFORM_REFUSALS,
];

export const accountNotFound = (): ApiError => notFound("ad account");

export const accountRevoked = (): ApiError =>
  new ApiError(
    "ad_account_revoked",
    "The platform no longer accepts the ad account's token: reconnect the account",
  );

/** 404 for an unknown account, 409 for an account whose token is dead. */
export const requireAdAccount = async (
  ...input: Parameters<typeof openAdAccount>
): Promise<AdAccountAccess> => requireOpened(await openAdAccount(...input));

/** 404 for an unknown account, 409 for an account that is not active. Takes the platform's id. */
export const requireActiveAdAccount = async (
  ...input: Parameters<typeof openActiveAdAccount>
): Promise<AdAccountAccess> => requireOpened(await openActiveAdAccount(...input));

function requireOpened(opened: OpenActiveAdAccountOutcome): AdAccountAccess {
  switch (opened.outcome) {
    case "opened":
      return opened.account;
    case "not_found":
      throw accountNotFound();
    case "revoked":
      throw accountRevoked();
    case "not_active":
      throw new ApiError(
        "ad_account_not_active",
        `The ad account is ${opened.status}: activate it before you use it`,
      );
  }
}
