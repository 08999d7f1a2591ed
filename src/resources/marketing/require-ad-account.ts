import { type AdAccountAccess, openAdAccount } from "../../domain/ads/ad-account-access.ts";
import { ApiError, notFound } from "../../http/api-error.ts";

export const accountNotFound = (): ApiError => notFound("ad account");

export const accountRevoked = (): ApiError =>
  new ApiError("ad_account_revoked", "The platform takes the account's token no more: connect it again");

/** 404 for an account that the client does not have, 409 for one whose token is dead. */
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
