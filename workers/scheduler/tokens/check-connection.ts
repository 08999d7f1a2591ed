import { revokeDeadConnection } from "../../../src/domain/ads/ad-account-access.ts";
import { isForbidden, isTokenDead } from "../../../src/platforms/errors/failure.ts";
import type { Fields } from "../../../src/runtime/logging/log.ts";
import type { UnitOfWork } from "../../../src/runtime/watchdog/work-tracker.ts";
import { openConnectionToken } from "../../../src/security/connection-token.ts";
import type { ConnectionRow } from "../../../src/store/ads/ad-connections.ts";
import { rethrowPause, throwAppError } from "./app-errors.ts";
import { checkAccounts } from "./check-accounts.ts";
import { type CheckParts, type Findings, NO_FINDINGS } from "./findings.ts";
import { updateExpiry } from "./warnings.ts";

/** Checks the token and the accounts of a connection. Throws when the platform gives no usable answer. */
export async function checkConnection(
  parts: CheckParts,
  connection: ConnectionRow,
  unit: UnitOfWork,
): Promise<Findings> {
  const { secretBox, ads, log } = parts;
  const { id, client_id: client } = connection;
  const token = openConnectionToken(secretBox, id, connection.token_sealed);
  const about = { client, connection: id };
  const inspection = await ads.tokens.inspect(token, about).catch(throwAppError);
  unit.resume();
  const isDead = inspection.dead || (!inspection.valid && (await isDeadInUse(parts, token, about)));
  if (isDead) return { ...NO_FINDINGS, revoked: await revokeDeadConnection(parts, id) };
  if (!inspection.valid) {
    log.warn("ad_connection.suspended", { ...about, reason: inspection.reason });
    return { ...NO_FINDINGS, suspended: 1 };
  }
  // Record the expiry first: it is valid even when reading the accounts fails.
  const warned = await updateExpiry(parts, connection, inspection.expiresAt);
  return { ...NO_FINDINGS, warned, ...(await checkAccounts(parts, connection, token)) };
}

/** "Invalid" alone does not prove that a token is dead, and a dead one is erased: tries the token to find out. */
async function isDeadInUse({ ads }: CheckParts, token: string, about: Fields): Promise<boolean> {
  try {
    await ads.accounts.listAll(token, about);
    return false;
  } catch (error) {
    if (isTokenDead(error) || isForbidden(error)) return isTokenDead(error);
    return rethrowPause(error);
  }
}
