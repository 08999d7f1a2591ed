import type { ServerResponse } from "node:http";
import type { Socket } from "node:net";
import { createWatch } from "../../runtime/async/watch.ts";
import { SECOND } from "../../runtime/durations.ts";

/** Answers that callers have not taken yet. */
export interface UnsentAnswers {
  /** Disconnects the caller when it takes the answer too slowly. */
  watch(response: ServerResponse): void;
}

interface UnsentAnswer {
  socket: Socket;
  /** Time in the present period in which the answer waited for the caller. */
  waitMs: number;
  /** Bytes that the caller had taken when the period began. */
  taken: number;
}

export interface TakeLimits {
  periodMs: number;
  minBytesPerSecond: number;
}

const TAKE_LIMITS: TakeLimits = { periodMs: 30 * SECOND, minBytesPerSecond: 16_384 };

const CHECK_INTERVAL_MS = 500;

export function createUnsentAnswers({ periodMs, minBytesPerSecond } = TAKE_LIMITS): UnsentAnswers {
  const answers = createWatch<UnsentAnswer>({
    intervalMs: Math.min(CHECK_INTERVAL_MS, periodMs),
    isOver(answer, ms) {
      // Nothing waits for the caller: the source of a streamed answer is slow.
      answer.waitMs = answer.socket.writableLength > 0 ? answer.waitMs + ms : 0;
      if (answer.waitMs > 0 && answer.waitMs < periodMs) return false;
      const taken = takenBytes(answer.socket);
      const isTooSlow = answer.waitMs > 0 && taken - answer.taken < (minBytesPerSecond * periodMs) / SECOND;
      Object.assign(answer, { waitMs: 0, taken });
      return isTooSlow;
    },
    end: ({ socket }) => socket.destroy(),
  });
  return {
    watch(response) {
      const { socket, closed } = response;
      if (!socket || closed) return;
      const answer = { socket, waitMs: 0, taken: takenBytes(socket) };
      answers.add(answer);
      response.once("close", () => answers.delete(answer));
    },
  };
}

/** True while a part of the answer waits in this process, because the caller does not read it. */
export const isUnsent = ({ socket, closed }: ServerResponse): boolean =>
  !closed && (socket?.writableLength ?? 0) > 0;

/**
 * Bytes that the operating system took: those of a write that has begun are in the queue of its handle. Its buffers take
 * them in steps of up to some megabytes.
 */
function takenBytes(socket: Socket): number {
  const { _handle: handle } = socket as Socket & { _handle?: { writeQueueSize?: number } | null };
  return (socket.bytesWritten ?? 0) - (handle?.writeQueueSize ?? 0);
}
