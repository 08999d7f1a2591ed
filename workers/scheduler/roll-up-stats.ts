import { halvesOf } from "../../src/runtime/async/batcher.ts";
import { runSteps } from "../../src/runtime/async/iteration.ts";
import { ROLL_UP_MARGIN_MS } from "../../src/runtime/deadlines.ts";
import { HOUR, MINUTE } from "../../src/runtime/durations.ts";
import type { Database } from "../../src/store/database/database.ts";
import { databaseTime } from "../../src/store/database/database.ts";
import { DatabaseUnavailable } from "../../src/store/database/faults.ts";
import { type ClientHour, hourOf, STATS_SUBJECTS, type StatsSubject } from "../../src/store/stats/hours.ts";
import { readProgress, saveProgress } from "../../src/store/stats/read-stats.ts";
import {
  addLateHour,
  listActiveClients,
  listChangedHours,
  listLateHours,
  listOpenHours,
  type Recompute,
  recomputeHours,
  recomputeLateHours,
} from "../../src/store/stats/roll-up.ts";
import { oldestRowTime, type RetentionSettings } from "../table-partitions.ts";
import type { JobTick } from "./cron.ts";

/**
 * Computes the figures of every hour that may have changed since the last complete run:
 * recent hours, past hours whose unsettled rows have become fewer, and then hours with a row in late_changes.
 * An hour that cannot be computed does not keep others from being computed: it gets a row in late_changes.
 * A run that fails or is killed loses nothing: its changes are found again by the next one.
 */

/** Small batches keep the lock of the figures short, and their statements below the limit, also after a replay of a whole month. */
const MAX_BATCH_HOURS = 50;
const MAX_OPEN_HOURS = 1_000;
const MAX_LATE_SPANS = 10_000;
/** The next run computes the late hours that are left, so that a large replay does not delay the recent hours of all clients. */
const MAX_LATE_MS = 1 * MINUTE;

interface RollUpParts {
  db: Database;
  settings: RetentionSettings;
  /** No batch of late hours starts after this time. */
  maxLateMs?: number;
}

type RunContext = Pick<RollUpParts, "db" | "maxLateMs"> & Pick<JobTick, "signal"> & { subject: StatsSubject };

/** Returns how many rows of figures have changed. */
export function rollUpStats(
  { settings, ...parts }: RollUpParts,
  { signal }: Pick<JobTick, "signal">,
): Promise<Record<string, number>> {
  const { messages, events } = STATS_SUBJECTS;
  const oldest = (group: "message" | "event", now: number) => oldestRowTime(settings, group, now);
  return runSteps({
    message_stats_changed: () =>
      rollUp({ ...parts, signal, subject: messages }, (now) => oldest("message", now)),
    event_stats_changed: () => rollUp({ ...parts, signal, subject: events }, (now) => oldest("event", now)),
  });
}

async function rollUp(context: RunContext, oldestAt: (now: number) => number): Promise<number> {
  const { db, subject } = context;
  // Read before anything is counted, so that the figures include everything committed before it.
  const startedAt = (await databaseTime(db)).getTime();
  const oldest = hourOf(oldestAt(startedAt));
  const rolledUpTo = (await readProgress(db, subject)).getTime();
  const recentStart = Math.max(oldest, hourOf(rolledUpTo - ROLL_UP_MARGIN_MS));
  let isFollowed = false;
  const changed = await runSteps({
    followed: async () => {
      const counts = await runSteps({
        recent: () => rollUpRecentHours(context, { from: recentStart, to: startedAt }),
        open: () => rollUpOpenHours(context, { from: oldest, to: recentStart }),
      });
      isFollowed = true;
      return counts;
    },
    late: () => rollUpLateHours(context),
    // An hour that could not be computed has a row in late_changes.
    progress: async () => {
      if (isFollowed) await saveProgress(db, subject, new Date(startedAt));
      return 0;
    },
  });
  return Object.values(changed).reduce((sum, count) => sum + count, 0);
}

async function rollUpLateHours(context: RunContext): Promise<number> {
  const { db, subject, maxLateMs = MAX_LATE_MS } = context;
  const faults: unknown[] = [];
  const changed = await recomputeInBatches(context, await listLateHours(db, subject, MAX_LATE_SPANS), {
    recompute: recomputeLateHours,
    onFault: async (_hour, fault) => void faults.push(fault),
    endsAt: performance.now() + maxLateMs,
  });
  if (faults.length > 0) throw faults[0];
  return changed;
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
    total += await recomputeOrPostpone(context, await listChangedHours(db, subject, open));
    last = open.at(-1);
  }
}

/** Includes the hour that a process with a fast clock may already write to. */
async function rollUpRecentHours(context: RunContext, { from, to }: TimeRange): Promise<number> {
  const { db, subject } = context;
  let total = 0;
  for (let start = from; start < to + ROLL_UP_MARGIN_MS; start += HOUR) {
    context.signal.throwIfAborted();
    total += await recomputeOrPostpone(context, await listActiveClients(db, subject, start));
    // Saved after each past hour: the first run over a large history may be interrupted.
    if (start + HOUR < to) await saveProgress(db, subject, new Date(start + HOUR));
  }
  return total;
}

/** An hour that fails alone is computed again with the late hours, which also throw its error. */
const recomputeOrPostpone = (context: RunContext, hours: readonly ClientHour[]): Promise<number> =>
  recomputeInBatches(context, hours, {
    recompute: recomputeHours,
    onFault: (hour) => addLateHour(context.db, context.subject, hour),
  });

interface Computation {
  recompute: Recompute;
  /** Called for an hour that fails alone. */
  onFault(hour: ClientHour, fault: unknown): Promise<void>;
  /** No batch starts later. */
  endsAt?: number;
}

/** Computes the halves of a batch that fails, so that an hour that fails does not keep the others from being computed. */
async function recomputeInBatches(
  context: RunContext,
  hours: readonly ClientHour[],
  computation: Computation,
): Promise<number> {
  const { db, subject, signal } = context;
  const { recompute, onFault, endsAt = Number.POSITIVE_INFINITY } = computation;
  const [first] = hours;
  if (!first || performance.now() >= endsAt) return 0;
  signal.throwIfAborted();
  if (hours.length <= MAX_BATCH_HOURS)
    try {
      return await recompute(db, subject, hours);
    } catch (fault) {
      if (fault instanceof DatabaseUnavailable) throw fault;
      if (hours.length === 1) {
        await onFault(first, fault);
        return 0;
      }
    }
  let changed = 0;
  for (const half of halvesOf(hours)) changed += await recomputeInBatches(context, half, computation);
  return changed;
}
