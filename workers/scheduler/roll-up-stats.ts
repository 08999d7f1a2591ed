import { runSteps } from "../../src/runtime/async/iteration.ts";
import { ROLL_UP_MARGIN_MS } from "../../src/runtime/deadlines.ts";
import { HOUR } from "../../src/runtime/durations.ts";
import type { Database } from "../../src/store/database/database.ts";
import { databaseTime } from "../../src/store/database/database.ts";
import { type ClientHour, hourOf, STATS_SUBJECTS, type StatsSubject } from "../../src/store/stats/hours.ts";
import { readProgress, saveProgress } from "../../src/store/stats/read-stats.ts";
import {
  listActiveClients,
  listChangedHours,
  listOpenHours,
  recomputeHours,
  recomputeLateChanges,
} from "../../src/store/stats/roll-up.ts";
import { oldestRowTime, type RetentionSettings } from "../table-partitions.ts";
import type { JobTick } from "./cron.ts";

/**
 * Computes the figures of every hour that may have changed since the last complete run:
 * hours with a row in late_changes, past hours whose unsettled rows have become fewer, and recent hours.
 * A run that fails or is killed loses nothing: its changes are found again by the next one.
 */

/** Small batches keep the lock of the figures short, and their statements below the limit, also after a replay of a whole month. */
const MAX_BATCH_HOURS = 50;
const MAX_OPEN_HOURS = 1_000;

interface RollUpParts {
  db: Database;
  settings: RetentionSettings;
}

type RunContext = Pick<RollUpParts, "db"> & Pick<JobTick, "signal"> & { subject: StatsSubject };

/** Returns how many rows of figures have changed. */
export function rollUpStats(
  { db, settings }: RollUpParts,
  { signal }: Pick<JobTick, "signal">,
): Promise<Record<string, number>> {
  const { messages, events } = STATS_SUBJECTS;
  const oldest = (group: "message" | "event", now: number) => oldestRowTime(settings, group, now);
  return runSteps({
    message_stats_changed: () => rollUp({ db, signal, subject: messages }, (now) => oldest("message", now)),
    event_stats_changed: () => rollUp({ db, signal, subject: events }, (now) => oldest("event", now)),
  });
}

async function rollUp(context: RunContext, oldestAt: (now: number) => number): Promise<number> {
  const { db, subject } = context;
  // Read before anything is counted, so that the figures include everything committed before it.
  const startedAt = (await databaseTime(db)).getTime();
  const oldest = hourOf(oldestAt(startedAt));
  const rolledUpTo = (await readProgress(db, subject)).getTime();
  const recentStart = Math.max(oldest, hourOf(rolledUpTo - ROLL_UP_MARGIN_MS));
  const changed =
    (await rollUpLateChanges(context)) +
    (await rollUpOpenHours(context, { from: oldest, to: recentStart })) +
    (await rollUpRecentHours(context, { from: recentStart, to: startedAt }));
  await saveProgress(db, subject, new Date(startedAt));
  return changed;
}

async function rollUpLateChanges({ db, signal, subject }: RunContext): Promise<number> {
  for (let total = 0; ; ) {
    signal.throwIfAborted();
    const { changed, hasMore } = await recomputeLateChanges(db, subject, MAX_BATCH_HOURS);
    total += changed;
    if (!hasMore) return total;
  }
}

/** Milliseconds since 1970. */
interface TimeRange {
  from: number;
  to: number;
}

async function rollUpOpenHours(context: RunContext, range: TimeRange): Promise<number> {
  const { db, subject } = context;
  let last: ClientHour | undefined;
  for (let total = 0; ; ) {
    const open = await listOpenHours(db, subject, { ...range, last, limit: MAX_OPEN_HOURS });
    if (open.length === 0) return total;
    total += await recomputeInBatches(context, await listChangedHours(db, subject, open));
    last = open.at(-1);
  }
}

/** Includes the hour that a process with a fast clock may already write to. */
async function rollUpRecentHours(context: RunContext, { from, to }: TimeRange): Promise<number> {
  const { db, subject } = context;
  let total = 0;
  for (let start = from; start < to + ROLL_UP_MARGIN_MS; start += HOUR) {
    context.signal.throwIfAborted();
    total += await recomputeInBatches(context, await listActiveClients(db, subject, start));
    // Saved after each past hour: the first run over a large history may be interrupted.
    if (start + HOUR < to) await saveProgress(db, subject, new Date(start + HOUR));
  }
  return total;
}

async function recomputeInBatches({ db, signal, subject }: RunContext, hours: ClientHour[]): Promise<number> {
  let total = 0;
  for (let index = 0; index < hours.length; index += MAX_BATCH_HOURS) {
    signal.throwIfAborted();
    total += await recomputeHours(db, subject, hours.slice(index, index + MAX_BATCH_HOURS));
  }
  return total;
}
