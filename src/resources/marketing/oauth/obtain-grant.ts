import type { Grant } from "../../../domain/ads/ad-grants.ts";
import { aboutRequester, type Requester } from "../../../domain/tenants/request-actor.ts";
import { unusableAnswer } from "../../../platforms/errors/failure.ts";
import type { Platforms } from "../../../platforms/platforms.ts";
import { isPlatformId } from "../../../runtime/ids.ts";
import { checkPermissions } from "./permissions.ts";

interface AuthorizationCode {
  code: string;
  redirectUri: string;
  requester: Requester;
}

/** Exchanges the code and reads everything that a grant needs; if any step fails, there is no grant. */
export async function obtainGrant(
  { tokens, accounts }: Pick<Platforms["ads"], "tokens" | "accounts">,
  { code, redirectUri, requester }: AuthorizationCode,
): Promise<Grant> {
  const about = aboutRequester(requester);
  const shortLived = await tokens.exchangeCode(code, redirectUri, about);
  const { token, expiresAt } = await tokens.prolong(shortLived.token, about);
  const [permissions, inspection] = await Promise.all([
    tokens.permissions(token, about),
    tokens.inspect(token, about),
  ]);
  checkPermissions(permissions);
  const { userId = "" } = inspection;
  if (!inspection.valid || !isPlatformId(userId))
    throw unusableAnswer("The platform did not name the owner of the token");
  return {
    platformUserId: userId,
    token,
    expiresAt: inspection.expiresAt === undefined ? (expiresAt ?? null) : inspection.expiresAt,
    accounts: await accounts.listAll(token, about),
  };
}
