import { runInBatches } from "../../runtime/async/run-in-batches.ts";
import type { Log } from "../../runtime/logging/log.ts";
import { randomText } from "../../security/random-text.ts";
import { findConnectionsOfUser } from "../../store/ads/ad-connections.ts";
import {
  type GrantBatch,
  markUserTokensDead,
  removeUserFromChannels,
} from "../../store/channels/channel-owners.ts";
import type { Database } from "../../store/database/database.ts";
import { eraseGrantsOfUser } from "../../store/embed/sessions.ts";
import { insertDataDeletion } from "../../store/tenants/data-deletions.ts";
import { revokeConnections } from "../ads/ad-accounts.ts";
import { logDeadTokens, recordDeadTokens } from "../channels/channels.ts";

/** A person at the platform, and the time of their request: later grants are not affected. */
export interface PlatformUser {
  id: string;
  until: Date;
}

interface Parts {
  db: Database;
  log: Log;
}

/**
 * The person has removed the app: revokes every token they granted and records events for the affected
 * clients.
 */
export async function deauthorize(parts: Parts, user: PlatformUser): Promise<void> {
  await revokeGrants(parts, user);
}

/** Each statement changes this many rows at most, so that none is locked for long. */
const MAX_BATCH_ROWS = 1_000;

/** Changes the person's rows in batches; returns how many. */
const changeGrants = (
  { id, until }: PlatformUser,
  changeBatch: (batch: GrantBatch) => Promise<number>,
): Promise<number> =>
  runInBatches(MAX_BATCH_ROWS, (limit) => changeBatch({ platformUserId: id, until, limit }));

/** Returns how many connections to ad accounts, and how many signups that waited for the person, are revoked. */
async function revokeGrants({ db, log }: Parts, user: PlatformUser) {
  await changeGrants(user, async (batch) => {
    const channels = await db.transaction(async (tx) => {
      const rows = await markUserTokensDead(tx, batch);
      await recordDeadTokens(tx, rows);
      return rows;
    });
    logDeadTokens(log, channels);
    return channels.length;
  });
  const connections = await findConnectionsOfUser(db, user.id, user.until);
  await revokeConnections(db, connections);
  const signups = await changeGrants(user, (batch) => eraseGrantsOfUser(db, batch));
  return { connections: connections.length, signups };
}

/** Revokes the person's grants and deletes their id and tokens. Returns the confirmation code, which exists once all is done. */
export async function deleteUserData(parts: Parts, user: PlatformUser): Promise<string> {
  const { db } = parts;
  const confirmation_code = randomText(20);
  const revoked = await revokeGrants(parts, user);
  const channels = await changeGrants(user, (batch) => removeUserFromChannels(db, batch));
  await insertDataDeletion(db, { confirmation_code, channels, ...revoked });
  return confirmation_code;
}
