import type { AdAccess } from "../../platforms/ads/access.ts";
import { ApiError } from "../../runtime/errors.ts";
import type { Log } from "../../runtime/logging/log.ts";
import { openConnectionToken } from "../../security/connection-token.ts";
import type { SecretBox } from "../../security/secret-box.ts";
import { type AdAccountRow, findAdAccount } from "../../store/ads/ad-accounts.ts";
import type { Database } from "../../store/database/database.ts";
import { accountRevokedError, revokeConnections } from "./ad-accounts.ts";

/** An ad account that is not revoked, and how the platform is spoken to in its name. */
export interface AdAccountAccess {
  row: AdAccountRow & { connection_id: string };
  access: AdAccess;
}

interface Parts {
  db: Database;
  secretBox: SecretBox;
}

export const accountNotFoundError = (): ApiError => new ApiError("not_found", "There is no such ad account");

/** 404 for an account that the client does not have, 409 for one whose token is dead. */
export async function openAdAccount(
  { db, secretBox }: Parts,
  clientId: string,
  id: string,
): Promise<AdAccountAccess> {
  const row = await findAdAccount(db, clientId, id);
  if (!row) throw accountNotFoundError();
  const { connection_id, token_sealed } = row;
  if (connection_id === null || token_sealed === null) throw accountRevokedError();
  const token = openConnectionToken(secretBox, connection_id, token_sealed);
  return {
    row: { ...row, connection_id },
    access: { account: row.ad_account_id, token, about: { client: clientId } },
  };
}

interface RevocationParts {
  db: Database;
  log: Log;
}

/** The platform calls the token of a connection dead: every account that shares it is revoked. Answers how many. */
export async function revokeDeadConnection(
  { db, log }: RevocationParts,
  connectionId: string,
): Promise<number> {
  const accounts = await db.transaction((tx) => revokeConnections(tx, [connectionId]));
  for (const { client_id: client, ad_account_id: ad_account, previous_status } of accounts)
    log.warn("ad_account.revoked", { client, ad_account, previous_status });
  return accounts.length;
}
