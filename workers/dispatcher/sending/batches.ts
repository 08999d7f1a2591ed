import { LRUCache } from "lru-cache";
import { type BatchParts, makeDueChange } from "../../../src/domain/batches/change-batch.ts";
import { SECOND } from "../../../src/runtime/durations.ts";
import type { Log } from "../../../src/runtime/log.ts";
import { listBatchRates } from "../../../src/store/batches/batches.ts";
import { listDueChanges } from "../../../src/store/batches/due-changes.ts";
import type { Queryable } from "../../../src/store/database/database.ts";
import type { SendKey } from "../../../src/store/messages/claim-sends.ts";

/** Further changes follow in the next run, which lists anew: the starts of one client must not delay the pauses of others. */
const MAX_CHANGES = 100;
const MAX_RUN_MS = 1 * SECOND;

/**
 * Changes the batches that need it without a request: starts those whose time has come, pauses those whose channel, template or
 * failures require it, and ends those of which nothing is left to send. Several dispatchers may do it at the same time: each
 * change is made once, because its statement requires the status before it.
 */
export async function superviseBatches(parts: BatchParts & { log: Log }): Promise<void> {
  const endsAt = performance.now() + MAX_RUN_MS;
  let failure: unknown;
  for (const due of await listDueChanges(parts.db, MAX_CHANGES)) {
    if (performance.now() > endsAt) break;
    const { client_id: client, id: batch_id, change } = due;
    try {
      const isMade = await makeDueChange(parts, due);
      if (isMade) parts.log.info("batch.changed", { client, batch_id, change });
    } catch (error) {
      failure = error; // a change that fails must not keep the others from being made
    }
  }
  if (failure !== undefined) throw failure;
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
