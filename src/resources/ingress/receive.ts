import { type EventDraft, recordEvents } from "../../dispatch/record-events.ts";
import type { WebhookContent } from "../../platforms/webhooks/read-webhook.ts";
import type { Reading } from "../../platforms/webhooks/reading.ts";
import { DAY, MINUTE } from "../../runtime/durations.ts";
import { endChannelsOfWaba } from "../../store/channel-owners.ts";
import type { Database, Queryable } from "../../store/database.ts";
import { findOwners, type Owner } from "./owners.ts";

/** What became of a webhook's updates. */
export interface Tally {
  updates: number;
  /** Events: an update of a whole business is one for each of its clients. */
  recorded: number;
  duplicate: number;
  /** Of nobody's, or nobody's any more. */
  foreign: number;
  /** Said nothing that anybody is told. */
  silent: number;
}

interface Draft extends EventDraft {
  reading: Reading;
}

/** Writes everything down that is somebody's, all or nothing: two statements, however many updates there are. */
export async function receive(db: Database, { updates, readings }: WebhookContent): Promise<Tally> {
  const ownersOf = await findOwners(db, readings);
  const owned = readings.map((reading) => ({ reading, owners: ownersOf(reading.asset) }));
  const drafts = owned.flatMap(({ reading, owners }) => owners.map((owner) => toDraft(reading, owner)));
  const ends = drafts.some(({ reading }) => reading.ends);
  const recorded = ends
    ? await db.transaction((tx) => recordAndEnd(tx, drafts))
    : await recordEvents(db, drafts);
  return {
    updates,
    recorded: recorded.length,
    duplicate: drafts.length - recorded.length,
    foreign: owned.filter(({ owners }) => owners.length === 0).length,
    silent: updates - readings.length,
  };
}

const toDraft = (reading: Reading, { clientId, channelId, adAccountId, externalRef }: Owner): Draft => ({
  clientId,
  type: reading.type,
  key: reading.key,
  channelId: channelId ?? null,
  adAccountId: adAccountId ?? null,
  externalRef: externalRef ?? null,
  occurredAt: reading.occurredAt,
  data: reading.data,
  raw: reading.raw,
  knownBy: reading.knownBy,
  reading,
});

/** An end that is known already must not end what was connected since. */
async function recordAndEnd(tx: Queryable, drafts: readonly Draft[]) {
  const recorded = await recordEvents(tx, drafts);
  for (const { draft } of recorded) {
    const { reading, clientId } = draft as Draft;
    if (reading.ends)
      await endChannelsOfWaba(tx, clientId, { wabaId: reading.asset.id, at: momentOfEnd(reading) });
  }
  return recorded;
}

/** The platform repeats itself for seven days: what claims to be older tells the time wrongly. */
const OLDEST_NEWS = 8 * DAY;
/** By how much its clock and ours may differ. */
const SKEW = 5 * MINUTE;

/** Only what was connected by then has ended. */
function momentOfEnd({ occurredAt }: Reading): Date {
  const now = Date.now();
  const told = occurredAt?.getTime() ?? now;
  return new Date(told < now - OLDEST_NEWS ? now : told + SKEW);
}
