import { queueStatus, type StreamStatus } from "../queue/queue-status.ts";
import { awaitConnection } from "../queue/redis.ts";
import { partitionsOf } from "../queue/streams.ts";
import { SECOND } from "../runtime/durations.ts";
import { type Command, defineCommand } from "./command.ts";

const CONNECT_TIMEOUT_MS = 5 * SECOND;

export const QUEUE_COMMANDS: readonly Command[] = [
  defineCommand({
    name: "queue status",
    summary: "Show what waits in each stream, for how long, what is in hand, and the open breakers",
    options: {},
    async run(_, { db, redis, config, say }): Promise<{ data: StreamStatus[] }> {
      await awaitConnection(redis, CONNECT_TIMEOUT_MS);
      const data = await queueStatus({ db, redis, partitions: partitionsOf(config) });
      if (!data.every(isComplete))
        say(
          "Redis gives no answer: depth, parked and open_breakers are not known; herald doctor looks further",
        );
      return { data };
    },
    // A script that watches the queue must not take half an answer for a whole one.
    isFailure: ({ data }) => !data.every(isComplete),
  }),
];

const isComplete = (stream: StreamStatus) => Object.values(stream).every((value) => value !== null);
