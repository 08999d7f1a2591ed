import { type EventNotifier, type MessageNotifier, notifyAfterCommit } from "../../queue/wake-ups.ts";
import { timeOfId } from "../../runtime/ids.ts";
import type { BatchDto } from "../../schema/batches.ts";
import type { BatchStatus, MessageType, PauseReason, Platform } from "../../schema/enumerations.ts";
import { toTimestamp } from "../../schema/times.ts";
import { type BatchRow, findBatch, findBatches } from "../../store/batches/batches.ts";
import {
  type BatchRef,
  type BatchToChange,
  cancelBatches,
  finishBatches,
  pauseBatches,
  pauseBatchesOfTemplate,
  resumeBatches,
  type StoppedTemplate,
  startBatches,
  startBatchSends,
} from "../../store/batches/change-batch.ts";
import type { DueChange } from "../../store/batches/due-changes.ts";
import type { Database, Queryable, TransactionLimits } from "../../store/database/database.ts";
import { cancelBatchSends } from "../../store/messages/cancel-sends.ts";
import { recordEvents } from "../events/record-events.ts";

export const toBatch = (row: BatchRow): BatchDto => ({
  ...stateOf(row),
  channel_id: row.channel_id,
  type: row.type as MessageType,
  created_at: toTimestamp(new Date(timeOfId(row.id))),
  send_at: row.send_at && toTimestamp(row.send_at),
  finished_at: row.finished_at && toTimestamp(row.finished_at),
});

/** What the API and the event say of the state of a batch. */
function stateOf(row: BatchRow) {
  const { scheduled, queued, sending, accepted, sent, delivered, read, failed, unknown, cancelled } = row;
  return {
    batch_id: row.id,
    name: row.name,
    status: row.batch_status as BatchStatus,
    pause_reason: row.pause_reason as PauseReason | null,
    counts: { scheduled, queued, sending, accepted, sent, delivered, read, failed, unknown, cancelled },
  };
}

/** Tells the clients the new state of their batches, in the transaction that changes it. */
async function recordUpdates(
  tx: Queryable,
  changed: readonly BatchRef[],
  notifier: EventNotifier,
): Promise<void> {
  if (changed.length === 0) return;
  const rows = await findBatches(tx, changed);
  const drafts = rows.map((row) => ({
    clientId: row.client_id,
    type: "batch.updated" as const,
    key: row.platform as Platform,
    channelId: row.channel_id,
    channelExternalRef: row.channel_external_ref,
    data: stateOf(row),
  }));
  await recordEvents(tx, drafts, notifier);
}

export interface BatchParts {
  db: Database;
  notifier: EventNotifier;
  messageNotifier: MessageNotifier;
}

/** Makes the change of the batches whose status allows it, and returns these. */
type Change = (tx: Queryable, batches: readonly BatchToChange[]) => Promise<BatchRef[]>;

const start: Change = async (tx, batches) => {
  const started = await startBatches(tx, batches);
  await startBatchSends(tx, started);
  return started;
};

/** A batch that was paused before its time starts if that has passed meanwhile. */
const resume: Change = async (tx, batches) => {
  const resumed = await resumeBatches(tx, batches);
  await startBatchSends(
    tx,
    resumed.filter(({ status }) => status === "running"),
  );
  return resumed;
};

const cancel: Change = async (tx, batches) => {
  const cancelled = await cancelBatches(tx, batches);
  await cancelRest(tx, cancelled);
  return cancelled;
};

/** What was in flight when the batch was cancelled has failed and would be sent again. */
const cancelRest: Change = async (tx, batches) => {
  for (const { client_id, id } of batches) await cancelBatchSends(tx, client_id, id);
  return finishBatches(tx, batches);
};

const pauseBecause =
  (reason: PauseReason): Change =>
  (tx, batches) =>
    pauseBatches(tx, batches, reason);

/** Makes the change of all these batches in one transaction, with their events. Returns those whose status allowed it. */
async function makeChange(
  { db, notifier, messageNotifier }: BatchParts,
  { change, batches }: { change: Change; batches: readonly BatchToChange[] },
  limits?: TransactionLimits,
): Promise<BatchRef[]> {
  const changed = await notifyAfterCommit(
    { db, notifier },
    async (tx, deferredNotifier) => {
      const refs = await change(tx, batches);
      await recordUpdates(tx, refs, deferredNotifier);
      return refs;
    },
    limits,
  );
  messageNotifier.notify(
    changed
      .filter(({ status }) => status === "running")
      .map(({ client_id, channel_id, id }) => ({ clientId: client_id, channelId: channel_id, batchId: id })),
  );
  return changed;
}

/** The changes that a client can request, and the statuses in which a request has nothing to do. */
const REQUESTS = {
  pause: { change: pauseBecause("requested"), reached: ["paused"] },
  resume: { change: resume, reached: ["running", "scheduled"] },
  cancel: { change: cancel, reached: ["cancelled"] },
} as const satisfies Record<string, { change: Change; reached: readonly BatchStatus[] }>;

export type BatchRequest = keyof typeof REQUESTS;

export type BatchRequestOutcome =
  | { outcome: "done"; batch: BatchDto }
  | { outcome: "refused"; status: BatchStatus }
  | { outcome: "not_found" };

/** Changes a batch by a request of its client. */
export async function requestChange(
  parts: BatchParts,
  { clientId, batchId, request }: { clientId: string; batchId: string; request: BatchRequest },
): Promise<BatchRequestOutcome> {
  const { change, reached } = REQUESTS[request];
  const changed = await makeChange(parts, { change, batches: [{ client_id: clientId, id: batchId }] });
  const row = await findBatch(parts.db, clientId, batchId);
  if (!row) return { outcome: "not_found" };
  const batch = toBatch(row);
  if (changed.length > 0 || reached.some((status) => status === batch.status))
    return { outcome: "done", batch };
  return { outcome: "refused", status: batch.status };
}

const DUE_CHANGES: Readonly<Record<DueChange["change"], Change>> = {
  start,
  finish: finishBatches,
  cancel_rest: cancelRest,
  channel: pauseBecause("channel"),
  template: pauseBecause("template"),
  failures: pauseBecause("failures"),
};

/**
 * Makes a change that batches need without a request, of all of them or none. Returns those that still needed it. They are
 * locked in the order of their ids: dispatchers that change the same batches wait for each other instead of deadlocking.
 */
export const makeDueChange = (
  parts: BatchParts,
  { change, batches }: { change: DueChange["change"]; batches: readonly DueChange[] },
  limits: TransactionLimits,
): Promise<BatchRef[]> => {
  const sorted = [...batches].sort((one, other) => (one.id < other.id ? -1 : 1));
  return makeChange(parts, { change: DUE_CHANGES[change], batches: sorted }, limits);
};

/** Pauses the batches of the client that send a template which was deleted. */
export const pauseForTemplate = (
  { db, notifier }: Omit<BatchParts, "messageNotifier">,
  clientId: string,
  template: StoppedTemplate,
): Promise<void> =>
  notifyAfterCommit({ db, notifier }, async (tx, deferredNotifier) => {
    const paused = await pauseBatchesOfTemplate(tx, clientId, template);
    await recordUpdates(tx, paused, deferredNotifier);
  });
