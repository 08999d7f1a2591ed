import { MessageFailedError } from "./errors.ts";
import { MessagesOperations } from "./generated/operations.ts";
import type { MessageDto } from "./generated/types.ts";
import { poll, type WaitOptions } from "./poll.ts";

/** Statuses that a message can be waited for, in their order. */
const REACHABLE = ["accepted", "sent", "delivered", "read"] as const;

export type ReachableStatus = (typeof REACHABLE)[number];

const DEFAULT_WAIT_MS = 60_000;
const FIRST_INTERVAL_MS = 250;
const MAX_INTERVAL_MS = 5_000;

/** Send messages and follow their status. */
export class Messages extends MessagesOperations {
  /**
   * Waits until a message has this status or a later one, by default for a minute, and returns the message. Rejects with a
   * MessageFailedError when the message failed, and with a WaitTimeoutError when the time is over.
   */
  waitUntil(messageId: string, status: ReachableStatus, options: WaitOptions = {}): Promise<MessageDto> {
    const { signal, timeoutMs = DEFAULT_WAIT_MS } = options;
    return poll({
      what: `${status} of ${messageId}`,
      read: (signal) => this.get(messageId, { signal }),
      isDone(message) {
        if (message.status === "failed") throw new MessageFailedError(message);
        return hasReached(message, status);
      },
      timeoutMs,
      firstIntervalMs: FIRST_INTERVAL_MS,
      maxIntervalMs: MAX_INTERVAL_MS,
      signal,
    });
  }
}

/** The platform may report `read` without `delivered`. */
const hasReached = ({ status }: MessageDto, wanted: ReachableStatus): boolean =>
  REACHABLE.indexOf(status as ReachableStatus) >= REACHABLE.indexOf(wanted);
