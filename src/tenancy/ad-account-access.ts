import { openConnectionToken } from "../dispatch/connection-token.ts";
import type { AdAccess } from "../platforms/ads/access.ts";
import { PlatformFailure } from "../platforms/errors/failure.ts";
import { ApiError } from "../runtime/errors.ts";
import type { SecretBox } from "../security/secret-box.ts";
import { type AdAccountRow, findAdAccount } from "../store/ad-accounts.ts";
import type { Database } from "../store/database.ts";
import { accountRevoked, revokeConnections } from "./ad-accounts.ts";

/** An ad account that is not revoked, and how the platform is spoken to in its name. */
export interface AdAccountAccess {
  row: AdAccountRow & { connection_id: string };
  access: AdAccess;
}

interface Parts {
  db: Database;
  secretBox: SecretBox;
}

export const noSuchAccount = (): ApiError => new ApiError("not_found", "There is no such ad account");

/** 404 for an account that the client does not have, 409 for one whose token is dead. */
export async function openAdAccount(
  { db, secretBox }: Parts,
  clientId: string,
  id: string,
): Promise<AdAccountAccess> {
  const row = await findAdAccount(db, clientId, id);
  if (!row) throw noSuchAccount();
  const { connection_id, token_sealed } = row;
  if (connection_id === null || token_sealed === null) throw accountRevoked();
  const token = openConnectionToken(secretBox, connection_id, token_sealed);
  return {
    row: { ...row, connection_id },
    access: { account: row.ad_account_id, token, about: { client: clientId } },
  };
}

/** What is said with the token of a connection. Where the platform calls it dead, every account that shares it is revoked. */
export async function speakingBy<T>(db: Database, connectionId: string, say: () => Promise<T>): Promise<T> {
  try {
    return await say();
  } catch (error) {
    if (error instanceof PlatformFailure && error.verdict === "token_dead")
      await db.transaction((tx) => revokeConnections(tx, [connectionId]));
    throw error;
  }
}
