import { MessageFailedError } from "./errors.ts";
import { BatchesOperations, MessagesOperations } from "./generated/operations.ts";
import type { BatchDto, MessageDto } from "./generated/types.ts";
import { poll, type WaitOptions } from "./poll.ts";

/** Statuses that a message can be waited for, in their order. */
const REACHABLE = ["accepted", "sent", "delivered", "read"] as const;

export type ReachableStatus = (typeof REACHABLE)[number];

const MESSAGE_WAIT = { timeoutMs: 60_000, firstIntervalMs: 250, maxIntervalMs: 5_000 } as const;
/** Its time depends on the rate of the channel. */
const BATCH_WAIT = { timeoutMs: 15 * 60_000, firstIntervalMs: 500, maxIntervalMs: 10_000 } as const;

/** Send messages and follow their status. */
export class Messages extends MessagesOperations {
  /**
   * Waits until a message has this status or a later one, by default for a minute, and returns the message. Rejects with a
   * MessageFailedError when the message failed or was cancelled, and with a WaitTimeoutError when the time is over.
   */
  waitUntil(messageId: string, status: ReachableStatus, options: WaitOptions = {}): Promise<MessageDto> {
    const { signal, timeoutMs = MESSAGE_WAIT.timeoutMs } = options;
    return poll({
      ...MESSAGE_WAIT,
      what: `${status} of ${messageId}`,
      read: (signal) => this.get(messageId, { signal }),
      isDone(message) {
        if (message.status === "failed" || message.status === "cancelled")
          throw new MessageFailedError(message);
        return hasReached(message, status);
      },
      timeoutMs,
      signal,
    });
  }
}

/** The platform may report `read` without `delivered`. */
const hasReached = ({ status }: MessageDto, wanted: ReachableStatus): boolean =>
  REACHABLE.indexOf(status as ReachableStatus) >= REACHABLE.indexOf(wanted);

/** Send a message to many people, at a time and pace of your choice. */
export class Batches extends BatchesOperations {
  /**
   * Waits until nothing of a batch is still to be sent, by default for 15 minutes, and returns the batch. A cancelled batch is
   * returned too. A paused one is waited for, because it may be resumed. Rejects with a WaitTimeoutError when the time is over.
   */
  waitUntilFinished(batchId: string, options: WaitOptions = {}): Promise<BatchDto> {
    const { signal, timeoutMs = BATCH_WAIT.timeoutMs } = options;
    return poll({
      ...BATCH_WAIT,
      what: `end of ${batchId}`,
      read: (signal) => this.get(batchId, { signal }),
      isDone: ({ finished_at }) => finished_at !== null,
      timeoutMs,
      signal,
    });
  }
}
