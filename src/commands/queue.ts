import { queueStatus, type StreamStatus } from "../queue/queue-status.ts";
import { awaitConnection } from "../queue/redis.ts";
import { partitionsOf } from "../queue/streams.ts";
import { SECOND } from "../runtime/durations.ts";
import { type Command, defineCommand } from "./command.ts";

const CONNECT_TIMEOUT_MS = 5 * SECOND;
const MAX_READS = 3;

export const QUEUE_COMMANDS: readonly Command[] = [
  defineCommand({
    name: "queue status",
    summary:
      "Show depth, oldest due entry, entries in flight, parked entries and open circuit breakers of each stream",
    options: {},
    async run(_, { db, redis, config, say }): Promise<{ data: StreamStatus[] }> {
      await awaitConnection(redis, CONNECT_TIMEOUT_MS);
      const data = await readComplete(() => queueStatus({ db, redis, partitions: partitionsOf(config) }));
      if (!data.every(isComplete))
        say(
          "Redis does not answer: depth, parked and open_breakers are unknown; run herald doctor for details",
        );
      return { data };
    },
    // Scripts that watch the queue must not take a partial result for a complete one.
    isFailure: ({ data }) => !data.every(isComplete),
  }),
];

/** Reads again when Redis did not answer in time: on a busy machine, a single answer may be late. */
async function readComplete(read: () => Promise<StreamStatus[]>): Promise<StreamStatus[]> {
  let data = await read();
  for (let reads = 1; reads < MAX_READS && !data.every(isComplete); reads++) data = await read();
  return data;
}

const isComplete = (stream: StreamStatus) => Object.values(stream).every((value) => value !== null);
