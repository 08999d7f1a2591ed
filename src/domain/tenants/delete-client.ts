import { pause } from "../../runtime/async/timeouts-and-retries.ts";
import { MINUTE } from "../../runtime/durations.ts";
import type { Database } from "../../store/database/database.ts";
import {
  deleteClientRow,
  eraseRows,
  listDeletedClients,
  listWriters,
  markClientDeleted,
} from "../../store/tenants/client-erasure.ts";

/** Longer than any transaction of Herald lasts, and than a message is in flight. */
const MAX_WAIT_MS = 2 * MINUTE;
const WAIT_INTERVAL_MS = 100;

interface ErasureOptions {
  /** How long older transactions and messages in flight are waited for. */
  maxWaitMs?: number;
}

/**
 * Deletes the client: nothing is accepted, sent or delivered for it from now on. Then erases its rows. False when a
 * transaction is older than the deletion and does not end, or a message stays in flight: the maintenance job erases the rest.
 */
export async function deleteClient(
  db: Database,
  clientId: string,
  options?: ErasureOptions,
): Promise<boolean> {
  await markClientDeleted(db, clientId);
  return eraseClient(db, clientId, options);
}

/** Erases the rows of deleted clients whose erasure has not ended; returns how many clients are gone now. */
export async function eraseDeletedClients(db: Database, options?: ErasureOptions): Promise<number> {
  let erased = 0;
  for (const clientId of await listDeletedClients(db))
    if (await eraseClient(db, clientId, options)) erased += 1;
  return erased;
}

async function eraseClient(
  db: Database,
  clientId: string,
  { maxWaitMs = MAX_WAIT_MS }: ErasureOptions = {},
): Promise<boolean> {
  const deadline = Date.now() + maxWaitMs;
  let writers = await listWriters(db);
  for (;;) {
    // While an older writer runs, it may commit rows behind the pass: another pass must follow.
    const isLastPass = writers.length === 0;
    await eraseRows(db, clientId);
    if (isLastPass && (await deleteClientRow(db, clientId))) return true;
    writers = isLastPass ? [] : await listWriters(db, writers);
    if ((isLastPass || writers.length > 0) && Date.now() > deadline) return false;
    await pause(WAIT_INTERVAL_MS);
  }
}
