import { LRUCache } from "lru-cache";
import { type BatchParts, makeDueChange } from "../../../src/domain/batches/change-batch.ts";
import { halvesOf } from "../../../src/runtime/async/batcher.ts";
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
}

/**
 * Changes the batches that need it without a request: starts those whose time has come, pauses those whose channel, template or
 * failures require it, and ends those of which nothing is left to send. Several dispatchers may do it at the same time: each
 * change is made once, because its statement requires the status before it. Resolves to `unfinished` when more may be due.
 */
export async function superviseBatches(parts: SupervisionParts): Promise<"unfinished" | "finished"> {
  const due = await listDueChanges(parts.db, MAX_CHANGES);
  const endsAt = performance.now() + (parts.maxRunMs ?? MAX_RUN_MS);
  const groups = groupsOf(due);
  let made = 0;
  let failure: unknown;
  do {
    const group = groups.shift() ?? [];
    try {
      made += await makeGroup(parts, group);
    } catch (error) {
      // One change that fails must not keep the others from being made.
      if (group.length > 1) groups.unshift(...halvesOf(group));
      else failure = error;
    }
  } while (groups.length > 0 && performance.now() < endsAt);
  if (failure !== undefined) throw failure;
  // When nothing could be changed, another transaction has these batches: the next run would find the same.
  const isLeft = groups.length > 0 || due.length === MAX_CHANGES;
  return isLeft && made > 0 ? "unfinished" : "finished";
}

/** Divides the list into groups with the same change. A group has the place of its first batch. */
function groupsOf(due: readonly DueChange[]): DueChange[][] {
  const groups: DueChange[][] = [];
  const open = new Map<string, { group: DueChange[]; messages: number }>();
  for (const batch of due) {
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
  return groups;
}

async function makeGroup(parts: SupervisionParts, group: readonly DueChange[]): Promise<number> {
  const [first] = group;
  if (!first) return 0;
  const changed = await makeDueChange(parts, first.change, group);
  for (const { client_id: client, id: batch_id } of changed)
    parts.log.info("batch.changed", { client, batch_id, change: first.change });
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
