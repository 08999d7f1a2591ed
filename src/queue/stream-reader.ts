import { withTimeout } from "../runtime/async/with-timeout.ts";
import { SECOND } from "../runtime/durations.ts";
import type { RedisClient } from "./redis.ts";
import { CONSUMER, type Entry, GROUP, isMissingGroup, toEntries } from "./streams.ts";

/**
 * A reader is disconnected or connected. `read` connects it. `close` and a read that fails or hangs disconnect it, so that
 * the next read gets a fresh connection; a missing group does not. No other command uses the connection, because a
 * blocking read delays every command behind it.
 */

/** In milliseconds. */
interface ReadTimeouts {
  /** How long a read waits for entries. */
  block: number;
  /** A read that takes this much longer than `block` hangs on a dead connection. */
  slack: number;
}

const DEFAULT_TIMEOUTS_MS: ReadTimeouts = { block: 1 * SECOND, slack: 3 * SECOND };

interface StreamReader {
  /** Returns up to `count` new entries; none when none come within `block`. Throws while Redis is unavailable. */
  read(count: number): Promise<Entry[]>;
  close(): void;
}

export function createStreamReader(
  key: string,
  connect: () => RedisClient,
  { block, slack } = DEFAULT_TIMEOUTS_MS,
): StreamReader {
  let client: RedisClient | undefined;
  const disconnect = () => {
    client?.disconnect();
    client = undefined;
  };
  const request = async (count: number) => {
    client ??= connect();
    const answer = await client.xreadgroup(
      "GROUP",
      GROUP,
      CONSUMER,
      "COUNT",
      count,
      "BLOCK",
      block,
      "STREAMS",
      key,
      ">",
    );
    const [stream] = (answer ?? []) as [string, unknown][];
    return toEntries(stream?.[1]);
  };
  return {
    async read(count) {
      try {
        return await withTimeout(block + slack, request(count), () => {
          throw new Error("the blocking read from Redis did not end in time");
        });
      } catch (error) {
        if (!isMissingGroup(error)) disconnect();
        throw error;
      }
    },
    close: disconnect,
  };
}
