import { type EventNotifier, type MessageNotifier, notifyAfterCommit } from "../../queue/wake-ups.ts";
import { timeOfId } from "../../runtime/ids.ts";
import type { BatchDto } from "../../schema/batches.ts";
import type { BatchStatus, MessageType, PauseReason, Platform } from "../../schema/enumerations.ts";
import { toTimestamp } from "../../schema/times.ts";
import { type BatchRow, findBatch } from "../../store/batches/batches.ts";
import {
  type BatchRef,
  cancelBatch,
  finishBatch,
  pauseBatch,
  pauseBatchesOfTemplate,
  resumeBatch,
  type StoppedTemplate,
  startBatch,
  startBatchSends,
} from "../../store/batches/change-batch.ts";
import type { DueChange } from "../../store/batches/due-changes.ts";
import type { Database, Queryable } from "../../store/database/database.ts";
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

/** Tells the client the new state of a batch, in the transaction that changes it. */
async function recordUpdate(
  tx: Queryable,
  { client_id, id }: BatchRef,
  notifier: EventNotifier,
): Promise<void> {
  const row = await findBatch(tx, client_id, id);
  if (!row) return; // its client was deleted
  const draft = {
    clientId: client_id,
    type: "batch.updated",
    key: row.platform as Platform,
    channelId: row.channel_id,
    channelExternalRef: row.channel_external_ref,
    data: stateOf(row),
  } as const;
  await recordEvents(tx, [draft], notifier);
}

export interface BatchParts {
  db: Database;
  notifier: EventNotifier;
  messageNotifier: MessageNotifier;
}

/** Only a change without a request has `active_since`. */
type ChangedBatch = Pick<BatchRef, "client_id" | "id"> & Partial<Pick<DueChange, "active_since">>;

type Change = (tx: Queryable, batch: ChangedBatch) => Promise<BatchRef | undefined>;

const start: Change = async (tx, batch) => {
  const started = await startBatch(tx, batch);
  if (started) await startBatchSends(tx, started);
  return started;
};

/** A batch that was paused before its time starts if that has passed meanwhile. */
const resume: Change = async (tx, batch) => {
  const resumed = await resumeBatch(tx, batch);
  if (resumed?.status === "running") await startBatchSends(tx, resumed);
  return resumed;
};

const cancel: Change = async (tx, batch) => {
  const cancelled = await cancelBatch(tx, batch);
  if (!cancelled) return undefined;
  await cancelBatchSends(tx, batch.client_id, batch.id);
  await finishBatch(tx, batch);
  return cancelled;
};

/** What was in flight when the batch was cancelled has failed and would be sent again. */
const cancelRest: Change = async (tx, batch) => {
  await cancelBatchSends(tx, batch.client_id, batch.id);
  return finishBatch(tx, batch);
};

const pauseBecause =
  (reason: PauseReason): Change =>
  (tx, batch) =>
    pauseBatch(tx, batch, reason, batch.active_since ?? null);

/** Makes one change in a transaction, with its event. False when the status of the batch does not allow it. */
async function makeChange(
  { db, notifier, messageNotifier }: BatchParts,
  batch: ChangedBatch,
  change: Change,
): Promise<boolean> {
  const changed = await notifyAfterCommit({ db, notifier }, async (tx, deferredNotifier) => {
    const ref = await change(tx, batch);
    if (ref) await recordUpdate(tx, ref, deferredNotifier);
    return ref;
  });
  if (changed?.status === "running")
    messageNotifier.notify([
      { clientId: changed.client_id, channelId: changed.channel_id, batchId: changed.id },
    ]);
  return changed !== undefined;
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
  const isChanged = await makeChange(parts, { client_id: clientId, id: batchId }, change);
  const row = await findBatch(parts.db, clientId, batchId);
  if (!row) return { outcome: "not_found" };
  const batch = toBatch(row);
  if (isChanged || reached.some((status) => status === batch.status)) return { outcome: "done", batch };
  return { outcome: "refused", status: batch.status };
}

const DUE_CHANGES: Readonly<Record<DueChange["change"], Change>> = {
  start,
  finish: finishBatch,
  cancel_rest: cancelRest,
  channel: pauseBecause("channel"),
  template: pauseBecause("template"),
  failures: pauseBecause("failures"),
};

/** Makes a change that a batch needs without a request; false when it no longer needs it. */
export const makeDueChange = (parts: BatchParts, { change, ...batch }: DueChange): Promise<boolean> =>
  makeChange(parts, batch, DUE_CHANGES[change]);

/** Pauses the batches of the client that send a template which was deleted. */
export const pauseForTemplate = (
  { db, notifier }: Omit<BatchParts, "messageNotifier">,
  clientId: string,
  template: StoppedTemplate,
): Promise<void> =>
  notifyAfterCommit({ db, notifier }, async (tx, deferredNotifier) => {
    const paused = await pauseBatchesOfTemplate(tx, clientId, template);
    for (const batch of paused) await recordUpdate(tx, batch, deferredNotifier);
  });
