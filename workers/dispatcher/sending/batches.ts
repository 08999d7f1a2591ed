import { LRUCache } from "lru-cache";
import { type BatchParts, makeDueChange } from "../../../src/domain/batches/change-batch.ts";
import { RECOVERY_STATEMENT_LIMIT_MS } from "../../../src/runtime/deadlines.ts";
import { SECOND } from "../../../src/runtime/durations.ts";
import type { Log } from "../../../src/runtime/log.ts";
import { listBatchRates } from "../../../src/store/batches/batches.ts";
import {
  type DueChange,
  listDueChanges,
  MAX_COUNTED_MESSAGES,
} from "../../../src/store/batches/due-changes.ts";
import type { Queryable } from "../../../src/store/database/database.ts";
import type { SendKey } from "../../../src/store/messages/claim-sends.ts";

const MAX_CHANGES = 200;
/** A run ends after this time, and the next one lists anew: many starts must not delay a pause for longer. */
const MAX_RUN_MS = 1 * SECOND;
/** The changes of one transaction, which locks the messages that it starts. A batch with more of them is started alone. */
const MAX_GROUP = { batches: 100, messages: MAX_COUNTED_MESSAGES };

interface SupervisionParts extends BatchParts {
  log: Log;
  /** No further transaction begins after this time. */
  maxRunMs?: number;
  /** Postgres ends a statement of a change that takes longer. */
  statementMs?: number;
}

/**
 * Returns the supervision of batches. A run changes those that need it without a request: it starts those whose time has come, pauses
 * those whose channel, template or failures require it, and ends those of which nothing is left to send. Several dispatchers may do it
 * at the same time: each change is made once, because its statement requires the status before it. Resolves to `unfinished` when more
 * may be due.
 */
export function createBatchSupervision(parts: SupervisionParts): () => Promise<"unfinished" | "finished"> {
  const { db, maxRunMs = MAX_RUN_MS } = parts;
  /**
   * Failures of the batches whose change failed. Each is changed alone, after the others, those that failed most last, until it
   * succeeds or is no longer due.
   */
  const failures = new Map<string, number>();

  return async () => {
    const due = await listDueChanges(db, MAX_CHANGES);
    const dueIds = new Set(due.map(({ id }) => id));
    for (const id of failures.keys()) if (!dueIds.has(id)) failures.delete(id);
    const groups = groupsOf(due, failures);
    const endsAt = performance.now() + maxRunMs;
    let made = 0;
    let failure: unknown;
    while (groups.length > 0) {
      const group = groups.shift() as DueChange[];
      try {
        made += await makeGroup(parts, group);
        for (const { id } of group) failures.delete(id);
      } catch (error) {
        failure = error;
        for (const { id } of group) failures.set(id, (failures.get(id) ?? 0) + 1);
        if (group.length > 1) groups.push(...group.map((batch) => [batch]));
      }
      if (performance.now() >= endsAt) break;
    }
    if (failure !== undefined) throw failure;
    // When nothing could be changed, another transaction has these batches: the next run would find the same.
    const isLeft = groups.length > 0 || due.length === MAX_CHANGES;
    return isLeft && made > 0 ? "unfinished" : "finished";
  };
}

/** Divides the list into groups with the same change, each at the place of its first batch. Batches that failed come last, alone. */
function groupsOf(due: readonly DueChange[], failures: ReadonlyMap<string, number>): DueChange[][] {
  const groups: DueChange[][] = [];
  const open = new Map<string, { group: DueChange[]; messages: number }>();
  for (const batch of due) {
    if (failures.has(batch.id)) continue;
    if (batch.messages >= MAX_GROUP.messages) {
      groups.push([batch]);
      continue;
    }
    let last = open.get(batch.change);
    const isFull =
      last?.group.length === MAX_GROUP.batches || (last?.messages ?? 0) + batch.messages > MAX_GROUP.messages;
    if (!last || isFull) {
      last = { group: [], messages: 0 };
      groups.push(last.group);
      open.set(batch.change, last);
    }
    last.group.push(batch);
    last.messages += batch.messages;
  }
  const failed = due.filter(({ id }) => failures.has(id));
  const failuresOf = ({ id }: DueChange) => failures.get(id) ?? 0;
  failed.sort((one, other) => failuresOf(one) - failuresOf(other));
  return [...groups, ...failed.map((batch) => [batch])];
}

async function makeGroup(parts: SupervisionParts, group: readonly DueChange[]): Promise<number> {
  const { change } = group[0] as DueChange;
  const { statementMs = RECOVERY_STATEMENT_LIMIT_MS } = parts;
  const changed = await makeDueChange(parts, { change, batches: group }, { statementMs });
  for (const { client_id: client, id: batch_id } of changed)
    parts.log.info("batch.changed", { client, batch_id, change });
  return changed.length;
}

const MAX_CACHED_RATES = 10_000;
/** While the database does not say the rate of a batch: nothing of it can be claimed then. */
const UNKNOWN_RATE = 1;

/** Returns the function that adds the rate of its batch to each key; a rate never changes. Single messages have none. */
export function createBatchRates(db: Queryable) {
  const cache = new LRUCache<string, { perSecond: number | null }>({ max: MAX_CACHED_RATES });
  return async <K extends SendKey>(keys: readonly K[]): Promise<(K & { perSecond: number | null })[]> => {
    const missing = keys.filter(({ batchId }) => batchId !== "" && !cache.has(batchId));
    if (missing.length > 0)
      for (const { id, perSecond } of await listBatchRates(db, missing).catch(() => []))
        cache.set(id, { perSecond });
    return keys.map((key) => ({
      ...key,
      perSecond:
        key.batchId === "" ? null : (cache.get(key.batchId) ?? { perSecond: UNKNOWN_RATE }).perSecond,
    }));
  };
}
