import { queueStatus, type StreamStatus } from "../queue/queue-status.ts";
import { awaitConnection } from "../queue/redis.ts";
import { partitionsOf } from "../queue/streams.ts";
import { SECOND } from "../runtime/durations.ts";
import { type Verb, verb } from "./command.ts";

const PATIENCE = 5 * SECOND;

export const QUEUE_VERBS: readonly Verb[] = [
  verb({
    name: "queue status",
    summary: "Show what waits in each stream, for how long, what is in hand, and the open breakers",
    options: {},
    async run(_, { db, redis, config, say }): Promise<{ data: StreamStatus[] }> {
      await awaitConnection(redis, PATIENCE);
      const data = await queueStatus({ db, redis, partitions: partitionsOf(config) });
      if (!data.every(isWhole))
        say(
          "Redis gives no answer: depth, parked and open_breakers are not known; herald doctor looks further",
        );
      return { data };
    },
    // A script that watches the queue must not take half an answer for a whole one.
    failed: ({ data }) => !data.every(isWhole),
  }),
];

const isWhole = (stream: StreamStatus) => Object.values(stream).every((value) => value !== null);
