import type { MessageNotifier, OutboundKey } from "../../queue/wake-ups.ts";
import { type Batcher, createBatcher } from "../../runtime/async/batcher.ts";
import { withTimeout } from "../../runtime/async/timeouts-and-retries.ts";
import { REQUEST_DATABASE_TIMEOUT_MS } from "../../runtime/deadlines.ts";
import type { Database } from "../../store/database/database.ts";
import { DatabaseUnavailable } from "../../store/database/faults.ts";
import {
  acceptMessages,
  findRejections,
  type MessageRejection,
  type NewMessage,
} from "../../store/messages/accept-messages.ts";
import type { IdempotencyKeyRow } from "../../store/tenants/idempotency-keys.ts";

/** Outcome of accepting a message. */
export type AcceptOutcome =
  | { outcome: "accepted" }
  /** The idempotency key was used before, by this request or another. */
  | { outcome: "known"; key: IdempotencyKeyRow }
  | { outcome: "not_connected"; status: string }
  | { outcome: "no_channel" }
  /** Too many messages are pending. */
  | { outcome: "overloaded" }
  /** The database did not answer in time: nothing was written, or the message may have been accepted. */
  | { outcome: "unavailable" }
  | { outcome: "unknown" }
  /** The channel changes repeatedly: a later attempt may succeed. */
  | { outcome: "contended" };

export interface MessageIntake {
  /** Resolves once the message is committed. Concurrent messages must not have the same key. */
  accept(message: NewMessage): Promise<AcceptOutcome>;
}

/** While this many statements wait for the disk, further messages share the next one. */
const MAX_CONCURRENT_WRITES = 2;
const MAX_BATCH_ROWS = 200;
const MAX_BATCH_CHARACTERS = 1_000_000;
/** With more, the last message would wait longer than any caller does. */
const MAX_PENDING_MESSAGES = 10_000;
/** Bounds the memory of pending messages, whose content may be large. */
const MAX_PENDING_CHARACTERS = 32_000_000;
const MAX_ATTEMPTS = 3;

interface IntakeParts {
  db: Database;
  notifier: MessageNotifier;
  /** Milliseconds that a message waits for the database. */
  timeoutMs?: number;
}

/**
 * Inserts concurrent messages with one statement: the commits of the database are the bottleneck.
 * A message is pending until its batch starts, running until the statement ends, then accepted or refused;
 * the batcher moves it. A refused message that nothing rejects now is pending again, MAX_ATTEMPTS times at most.
 */
export function createMessageIntake(parts: IntakeParts): MessageIntake {
  const batcher = createBatcher<NewMessage, AcceptOutcome | undefined>({
    maxItems: MAX_BATCH_ROWS,
    maxWeight: MAX_BATCH_CHARACTERS,
    weightOf: ({ content }) => content.length,
    maxRunningBatches: MAX_CONCURRENT_WRITES,
    // After a lost connection the batch may be committed already, so it is not repeated row by row.
    shouldIsolate: (error) => !(error instanceof DatabaseUnavailable),
    run: (messages) => acceptBatch(parts, messages),
  });
  return {
    async accept(message) {
      if (batcher.size() >= MAX_PENDING_MESSAGES || batcher.pendingWeight() >= MAX_PENDING_CHARACTERS)
        return { outcome: "overloaded" };
      const accepted = acceptWithRetries(batcher, message);
      const onTimeout = (): AcceptOutcome => ({
        outcome: batcher.cancel(message) ? "unavailable" : "unknown",
      });
      return withTimeout(parts.timeoutMs ?? REQUEST_DATABASE_TIMEOUT_MS, accepted, onTimeout);
    },
  };
}

async function acceptWithRetries(
  batcher: Batcher<NewMessage, AcceptOutcome | undefined>,
  message: NewMessage,
): Promise<AcceptOutcome> {
  for (let attempt = 1; attempt <= MAX_ATTEMPTS; attempt++) {
    const outcome = await batcher.add(message);
    if (outcome) return outcome;
  }
  return { outcome: "contended" };
}

async function acceptBatch({ db, notifier }: IntakeParts, messages: readonly NewMessage[]) {
  const accepted = await acceptMessages(db, messages);
  notifier.notify(keysOf(messages, accepted));
  const refused = messages.filter(({ id }) => !accepted.has(id));
  const outcomes = refused.length > 0 ? explainRefused(db, refused) : undefined;
  return ({ id }: NewMessage): AcceptOutcome | Promise<AcceptOutcome | undefined> | undefined =>
    accepted.has(id) ? { outcome: "accepted" } : outcomes?.then((byId) => byId.get(id));
}

/** Finds out why messages were refused; accepted ones do not wait for it. */
async function explainRefused(
  db: Database,
  refused: readonly NewMessage[],
): Promise<Map<string, AcceptOutcome | undefined>> {
  const rejections = new Map(
    (await findRejections(db, refused)).map((rejection) => [rejection.id, rejection]),
  );
  return new Map(refused.map(({ id }) => [id, toAcceptOutcome(rejections.get(id))]));
}

/** The keys of the messages that are due. */
const keysOf = (messages: readonly NewMessage[], accepted: ReadonlyMap<string, boolean>): OutboundKey[] =>
  messages
    .filter(({ id }) => accepted.get(id))
    .map(({ client_id, channel_id }) => ({ clientId: client_id, channelId: channel_id, batchId: "" }));

/** Undefined when nothing rejects the message now, so it can be tried again. */
function toAcceptOutcome(rejection: MessageRejection | undefined): AcceptOutcome | undefined {
  const { fingerprint = null, reply_sealed = null, channel_status: status = null } = rejection ?? {};
  if (fingerprint !== null && reply_sealed !== null)
    return { outcome: "known", key: { fingerprint, reply_sealed } };
  if (status === null) return { outcome: "no_channel" };
  return status === "connected" ? undefined : { outcome: "not_connected", status };
}
