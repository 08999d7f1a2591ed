import type { Platforms } from "../../platforms/platforms.ts";
import { ApiError } from "../../runtime/errors.ts";
import type { Log } from "../../runtime/log.ts";
import type { SecretBox } from "../../security/secret-box.ts";
import { type AdAccountRow, findAdAccount } from "../../store/ad-accounts.ts";
import type { Database } from "../../store/database.ts";
import { noSuchAccount, openAdAccount, speakingBy } from "../../tenancy/ad-account-access.ts";
import { toFacts } from "../../tenancy/ad-account-facts.ts";
import { subscribe } from "../../tenancy/ad-account-subscription.ts";
import { recordSync } from "../../tenancy/ad-accounts.ts";

export interface AdAccountParts {
  db: Database;
  secretBox: SecretBox;
  log: Log;
  /** Made at the first request: the table of routes must not connect to anything. */
  platforms: () => Pick<Platforms, "ads">;
}

/** Asks for the news of an account that has become active. It is active whatever the platform says to that. */
export async function activate(parts: AdAccountParts, row: AdAccountRow): Promise<AdAccountRow> {
  const { db, log, platforms } = parts;
  const { client_id: clientId, id } = row;
  const { accounts } = platforms().ads;
  await openAdAccount(parts, clientId, id).then(
    (account) => subscribe({ db, log, accounts }, account),
    // Gone or revoked in this very moment: there is nothing to ask for.
    (error) => {
      if (!(error instanceof ApiError)) throw error;
    },
  );
  return (await findAdAccount(db, clientId, id)) ?? row;
}

export async function refresh(parts: AdAccountParts, clientId: string, id: string): Promise<AdAccountRow> {
  const { db, platforms } = parts;
  const { row, access } = await openAdAccount(parts, clientId, id);
  const read = await speakingBy(db, row.connection_id, () => platforms().ads.accounts.read(access));
  const [synced] = await db.transaction((tx) =>
    recordSync(tx, row.connection_id, [{ id, ...toFacts(read) }]),
  );
  const account = synced ?? (await findAdAccount(db, clientId, id));
  if (!account) throw noSuchAccount();
  return account;
}
