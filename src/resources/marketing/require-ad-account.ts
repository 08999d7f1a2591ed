import { type AdAccountAccess, openAdAccount } from "../../domain/ads/ad-account-access.ts";
import { ApiError, notFound } from "../../http/api-error.ts";

export const accountNotFound = (): ApiError => notFound("ad account");

export const accountRevoked = (): ApiError =>
  new ApiError(
    "ad_account_revoked",
    "The platform no longer accepts the ad account's token: reconnect the account",
  );

/** 404 for an unknown account, 409 for an account whose token is dead. */
export async function requireAdAccount(...input: Parameters<typeof openAdAccount>): Promise<AdAccountAccess> {
  const opened = await openAdAccount(...input);
  switch (opened.outcome) {
    case "opened":
      return opened.account;
    case "not_found":
      throw accountNotFound();
    case "revoked":
      throw accountRevoked();
  }
}
