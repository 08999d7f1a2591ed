import type { Log } from "../../runtime/logging/log.ts";
import { randomText } from "../../security/random-text.ts";
import { findConnectionsOfUser } from "../../store/ads/ad-connections.ts";
import {
  type ChannelOwnerRow,
  markUserTokensDead,
  removeUserFromChannels,
} from "../../store/channels/channel-owners.ts";
import type { Database, Queryable } from "../../store/database/database.ts";
import { eraseGrantsOfUser } from "../../store/embed/sessions.ts";
import { insertDataDeletion } from "../../store/tenants/data-deletions.ts";
import { revokeConnections } from "../ads/ad-accounts.ts";
import { channelDisconnected } from "../channels/channel-events.ts";
import { auditDisconnect, logDeadTokens } from "../channels/channels.ts";
import { recordEvents } from "../events/record-events.ts";
import { serviceActor } from "../tenants/service-actor.ts";

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
export async function deauthorize({ db, log }: Parts, user: PlatformUser): Promise<void> {
  const { channels } = await db.transaction((tx) => revokeGrants(tx, user));
  logDeadTokens(log, channels);
}

interface RevokedGrants {
  channels: ChannelOwnerRow[];
  /** How many connections to ad accounts. */
  connections: number;
  /** How many signups that waited for the person. */
  signups: number;
}

async function revokeGrants(tx: Queryable, { id, until }: PlatformUser): Promise<RevokedGrants> {
  const channels = await markUserTokensDead(tx, id, until);
  await recordEvents(
    tx,
    channels.map((channel) => channelDisconnected(channel, "token_dead")),
  );
  for (const channel of channels)
    await auditDisconnect(tx, serviceActor(channel.client_id), { ...channel, reason: "token_dead" });
  const connections = await findConnectionsOfUser(tx, id, until);
  await revokeConnections(tx, connections);
  const signups = await eraseGrantsOfUser(tx, id, until);
  return { channels, connections: connections.length, signups };
}

/** Revokes the person's grants and deletes their id and tokens. Returns the confirmation code. */
export async function deleteUserData({ db, log }: Parts, user: PlatformUser): Promise<string> {
  const confirmation_code = randomText(20);
  const revoked = await db.transaction(async (tx) => {
    const grants = await revokeGrants(tx, user);
    const { connections, signups } = grants;
    const channels = await removeUserFromChannels(tx, user.id, user.until);
    await insertDataDeletion(tx, { confirmation_code, connections, channels, signups });
    return grants;
  });
  logDeadTokens(log, revoked.channels);
  return confirmation_code;
}
