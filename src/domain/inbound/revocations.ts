import type { Reading } from "../../platforms/webhooks/updates.ts";
import { notifyAfterCommit } from "../../queue/wake-ups.ts";
import { runInBatches } from "../../runtime/async/iteration.ts";
import { DAY, MINUTE } from "../../runtime/durations.ts";
import type { Log } from "../../runtime/log.ts";
import { randomText } from "../../security/secret-text.ts";
import { findConnectionsOfUser } from "../../store/ads/ad-connections.ts";
import {
  type GrantBatch,
  markUserTokensDead,
  removeUserFromChannels,
} from "../../store/channels/channel-owners.ts";
import type { Database, Queryable } from "../../store/database/database.ts";
import { eraseGrantsOfUser } from "../../store/embed/sessions.ts";
import { insertDataDeletion } from "../../store/tenants/data-deletions.ts";
import { revokeConnections } from "../ads/ad-accounts.ts";
import { disconnectByPlatform, logDeadTokens, recordDeadTokens } from "../channels/channels.ts";
import {
  type DraftOutcome,
  type InboundDraft,
  isRecorded,
  type RecordParts,
  recordInbound,
} from "../events/record-events.ts";

/**
 * The ways in which a platform ends access: a person removes the app or requests the deletion of their data, or a
 * business is removed and its webhook says so.
 */

/** A person at the platform, and the time of their request: later grants are not affected. */
export interface PlatformUser {
  id: string;
  until: Date;
}

interface Parts {
  db: Database;
  log: Log;
}

/** The person has removed the app: revokes every token they granted and records events for the affected clients. */
export async function deauthorize(parts: Parts, user: PlatformUser): Promise<void> {
  await revokeGrants(parts, user);
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

/** Each statement changes this many rows at most, so that none is locked for long. */
const MAX_BATCH_ROWS = 1_000;

/** Changes the person's rows in batches; returns how many. */
const changeGrants = (
  { id, until }: PlatformUser,
  changeBatch: (batch: GrantBatch) => Promise<number>,
): Promise<number> =>
  runInBatches(MAX_BATCH_ROWS, (limit) => changeBatch({ platformUserId: id, until, limit }));

/**
 * Disconnects the channels whose connection the platform has ended, and records the events in the same transaction.
 * Records channel.disconnected only if a channel was disconnected.
 */
export const recordAndDisconnect = (
  parts: RecordParts,
  drafts: readonly InboundDraft[],
): Promise<DraftOutcome[]> =>
  notifyAfterCommit(parts, async (tx, deferredNotifier) => {
    const events: InboundDraft[] = [];
    for (const draft of drafts)
      events.push(
        (await disconnectIfEnded(tx, draft))
          ? { ...draft, type: "channel.disconnected", data: DISCONNECTED_DATA }
          : draft,
      );
    return recordInbound(tx, events, deferredNotifier);
  });

const DISCONNECTED_DATA = { reason: "platform" };

/** Skips repeated updates: they must not disconnect a channel that was connected since. */
async function disconnectIfEnded(tx: Queryable, { clientId, reading }: InboundDraft): Promise<boolean> {
  if (!reading.endsConnection || (await isRecorded(tx, clientId, reading.dedupKey))) return false;
  return disconnectByPlatform(tx, clientId, { wabaId: reading.asset.id, at: disconnectTimeOf(reading) });
}

/** The platform repeats webhooks for seven days, so an older time is wrong. */
const MAX_UPDATE_AGE_MS = 8 * DAY;
/** Assumed maximum difference between the platform's clock and ours. */
const MAX_CLOCK_SKEW_MS = 5 * MINUTE;

/** Only channels granted by this time are disconnected. */
function disconnectTimeOf({ occurredAt }: Reading): Date {
  const [now, reportedAt] = [Date.now(), occurredAt.getTime()];
  return new Date(reportedAt < now - MAX_UPDATE_AGE_MS ? now : reportedAt + MAX_CLOCK_SKEW_MS);
}
