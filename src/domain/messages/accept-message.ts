import type { QueueNotifier } from "../../queue/queue-notifier.ts";
import type { Database } from "../../store/database/database.ts";
import { DatabaseUnavailable } from "../../store/database/faults.ts";
import {
  acceptMessages,
  findRejections,
  type MessageRejection,
  type NewMessage,
} from "../../store/messages/accept-messages.ts";
import type { SendRef } from "../../store/messages/claim-sends.ts";
import type { IdempotencyKeyRow } from "../../store/tenants/idempotency-keys.ts";

/** What became of a message that was to be sent. */
export type AcceptOutcome =
  | { outcome: "accepted" }
  /** Its operation was done before, or another by the same name. */
  | { outcome: "known"; key: IdempotencyKeyRow }
  | { outcome: "not_connected"; status: string }
  | { outcome: "no_channel" }
  /** Too many wait already. */
  | { outcome: "overloaded" }
  /** Its client is being erased, or its channel comes and goes: later it may be accepted. */
  | { outcome: "contended" };

export interface MessageIntake {
  /** Answers once it is written down for good. No two may come with the same key at once. */
  accept(message: NewMessage): Promise<AcceptOutcome>;
}

interface PendingMessage {
  message: NewMessage;
  attempts: number;
  resolve(outcome: AcceptOutcome): void;
  reject(error: unknown): void;
}

/** Statements under way: while they wait for the disk, the next ones gather. */
const MAX_CONCURRENT_WRITES = 2;
const MAX_BATCH_ROWS = 200;
const MAX_BATCH_CHARACTERS = 1_000_000;
/** More would wait longer than anybody does. */
const MAX_PENDING_MESSAGES = 10_000;
const MAX_ATTEMPTS = 3;

/** Messages that come at the same time are written down by one statement: the database's commits are what limits us. */
export function createMessageIntake({
  db,
  notifier,
}: {
  db: Database;
  notifier: QueueNotifier<SendRef>;
}): MessageIntake {
  let pending: PendingMessage[] = [];
  let activeWrites = 0;
  let isScheduled = false;

  /** After all that came in this turn of the loop. */
  function schedule(): void {
    if (isScheduled || activeWrites === MAX_CONCURRENT_WRITES || pending.length === 0) return;
    isScheduled = true;
    setImmediate(startBatches);
  }

  function startBatches(): void {
    isScheduled = false;
    while (pending.length > 0 && activeWrites < MAX_CONCURRENT_WRITES) {
      const size = batchSize(pending);
      const batch = pending.slice(0, size);
      pending = pending.slice(size);
      activeWrites += 1;
      void processBatch(batch).finally(() => {
        activeWrites -= 1;
        schedule();
      });
    }
  }

  function enqueue(entry: PendingMessage): void {
    pending.push(entry);
    schedule();
  }

  async function processBatch(batch: readonly PendingMessage[]): Promise<void> {
    try {
      const refused = await writeBatch(batch);
      if (refused.length > 0) await resolveRefused(refused).catch((error) => rejectAll(refused, error));
    } catch (error) {
      await processSingly(batch, error);
    }
  }

  /** One that cannot be written must not keep its neighbours from it. What was lost with the connection may be written already. */
  async function processSingly(batch: readonly PendingMessage[], error: unknown): Promise<void> {
    if (batch.length === 1 || error instanceof DatabaseUnavailable) rejectAll(batch, error);
    else for (const entry of batch) await processBatch([entry]);
  }

  /** Answers those that were not accepted. */
  async function writeBatch(batch: readonly PendingMessage[]): Promise<PendingMessage[]> {
    const epoch = notifier.epoch();
    const messages = batch.map(({ message }) => message);
    const accepted = await acceptMessages(db, messages, epoch);
    if (epoch !== null) notifier.notify(refsOf(messages, accepted));
    return batch.filter(({ message, resolve }) => {
      if (accepted.has(message.id)) resolve({ outcome: "accepted" });
      return !accepted.has(message.id);
    });
  }

  async function resolveRefused(refused: readonly PendingMessage[]): Promise<void> {
    const messages = refused.map(({ message }) => message);
    const obstacles = new Map(
      (await findRejections(db, messages)).map((obstacle) => [obstacle.id, obstacle]),
    );
    for (const entry of refused) {
      const outcome = toAcceptOutcome(obstacles.get(entry.message.id));
      if (outcome) entry.resolve(outcome);
      else if (entry.attempts < MAX_ATTEMPTS) enqueue({ ...entry, attempts: entry.attempts + 1 });
      else entry.resolve({ outcome: "contended" });
    }
  }

  return {
    accept: (message) =>
      new Promise((resolve, reject) => {
        if (pending.length >= MAX_PENDING_MESSAGES) resolve({ outcome: "overloaded" });
        else enqueue({ message, attempts: 1, resolve, reject });
      }),
  };
}

const rejectAll = (batch: readonly PendingMessage[], error: unknown) => {
  for (const { reject } of batch) reject(error);
};

/** As many as one statement takes, one at least. */
function batchSize(pending: readonly PendingMessage[]): number {
  let [size, characters] = [0, 0];
  for (const { message } of pending) {
    characters += message.content.length;
    if (size === MAX_BATCH_ROWS || (size > 0 && characters > MAX_BATCH_CHARACTERS)) break;
    size += 1;
  }
  return size;
}

const refsOf = (messages: readonly NewMessage[], accepted: ReadonlyMap<string, boolean>) =>
  messages
    .filter(({ id }) => accepted.get(id))
    .map(({ client_id, id, channel_id }): SendRef => ({ clientId: client_id, id, channelId: channel_id }));

/** Undefined where nothing stands in its way any more. */
function toAcceptOutcome(obstacle: MessageRejection | undefined): AcceptOutcome | undefined {
  const { fingerprint = null, reply_sealed = null, channel_status: status = null } = obstacle ?? {};
  if (fingerprint !== null && reply_sealed !== null)
    return { outcome: "known", key: { fingerprint, reply_sealed } };
  if (status === null) return { outcome: "no_channel" };
  return status === "connected" ? undefined : { outcome: "not_connected", status };
}
