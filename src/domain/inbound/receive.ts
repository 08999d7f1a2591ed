import type { WebhookContent } from "../../platforms/webhooks/read-webhook.ts";
import type { Asset, Reading } from "../../platforms/webhooks/reading.ts";
import { heldBack, type QueueNotifier } from "../../queue/queue-notifier.ts";
import { DAY, MINUTE } from "../../runtime/durations.ts";
import type { Database, Queryable } from "../../store/database/database.ts";
import { endByPlatform } from "../channels/channels.ts";
import { type EventDraft, isKnown, recordEvents } from "../events/record-events.ts";
import type { Draft } from "./draft.ts";
import { findOwners, type Owner } from "./owners.ts";
import { applyStatuses } from "./statuses.ts";
import { mirrorTemplates } from "./templates.ts";
import { applyWatermarks, isMark } from "./watermarks.ts";

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

export interface Received {
  tally: Tally;
  /** What the foreign ones are about. */
  strangers: Asset[];
}

/**
 * Writes everything down that is somebody's, all or nothing: a few statements, however many updates there are. What is said of
 * messages and templates is applied to them before: whoever dies in between gets it again, for nothing was acknowledged.
 */
export async function receive(
  { db, doorbell }: { db: Database; doorbell: QueueNotifier },
  { updates, readings }: WebhookContent,
): Promise<Received> {
  const bell = heldBack(doorbell);
  const ownersOf = await findOwners(db, readings);
  const owned = readings.map((reading) => ({ reading, owners: ownersOf(reading.asset) }));
  const all = owned.flatMap(({ reading, owners }) => owners.map((owner) => toDraft(reading, owner)));
  const told = await applyStatuses(
    db,
    all.filter((draft) => !isMark(draft)),
  );
  const drafts = await mirrorTemplates(db, told);
  const ends = drafts.some(({ reading }) => reading.ends);
  const recorded = ends
    ? await db.transaction((tx) => recordAndEnd(tx, drafts, bell))
    : await recordEvents(db, drafts, bell);
  const marked = await applyWatermarks(db, all.filter(isMark), bell);
  bell.release();
  const foreign = owned.filter(({ owners }) => owners.length === 0);
  return {
    tally: {
      updates,
      recorded: recorded.length + marked.recorded,
      duplicate: drafts.length - recorded.length + marked.duplicate,
      foreign: foreign.length,
      silent: updates - readings.length + marked.silent,
    },
    strangers: foreign.map(({ reading }) => reading.asset),
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

/** A client is told of an end only where something has ended. */
async function recordAndEnd(tx: Queryable, drafts: readonly Draft[], bell: QueueNotifier) {
  const told: EventDraft[] = [];
  for (const draft of drafts)
    told.push((await hasEnded(tx, draft)) ? { ...draft, type: "channel.disconnected", data: ENDED } : draft);
  return recordEvents(tx, told, bell);
}

const ENDED = { reason: "platform" };

/** What came before has had its effect, and must not end what was connected since. */
async function hasEnded(tx: Queryable, { clientId, reading }: Draft): Promise<boolean> {
  if (!reading.ends || (await isKnown(tx, clientId, reading.knownBy))) return false;
  return endByPlatform(tx, clientId, { wabaId: reading.asset.id, at: momentOfEnd(reading) });
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
