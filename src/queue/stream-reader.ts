import { withTimeout } from "../runtime/async/with-timeout.ts";
import { SECOND } from "../runtime/durations.ts";
import type { RedisClient } from "./redis.ts";
import { CONSUMER, type Entry, GROUP, toEntries } from "./streams.ts";

/** In milliseconds. */
interface ReadTimeouts {
  /** How long one read waits for something to come. */
  block: number;
  /** A read that says nothing for that much longer hangs on a connection that is gone. */
  slack: number;
}

const DEFAULT_TIMEOUTS_MS: ReadTimeouts = { block: 1 * SECOND, slack: 3 * SECOND };

interface StreamReader {
  /** What comes next, `count` at most; nothing when nothing came for a while. Throws where Redis is away. */
  read(count: number): Promise<Entry[]>;
  close(): void;
}

/** Reads one stream on a connection of its own: a read that waits would hold up every other command on it. */
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
          throw new Error("a read from Redis did not end");
        });
      } catch (error) {
        if (!isMissingGroup(error)) disconnect();
        throw error;
      }
    },
    close: disconnect,
  };
}

/** The stream is new, or Redis came back without it. */
export const isMissingGroup = (error: unknown): boolean =>
  error instanceof Error && /^(NOGROUP|UNBLOCKED)/.test(error.message);
