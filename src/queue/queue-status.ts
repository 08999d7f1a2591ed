import { SECOND } from "../runtime/durations.ts";
import type { Queryable } from "../store/database/database.ts";
import { measureDeliveries, measureSends } from "../store/events/queue-metrics.ts";
import { countOpenBreakers } from "./breaker-store.ts";
import { createParking } from "./parking.ts";
import type { RedisClient } from "./redis.ts";
import { createStreams } from "./streams.ts";

/** State of one stream. Values that only Redis has are null while it is unavailable. */
export interface StreamStatus {
  stream: string;
  /** Entries in the stream, read or not. */
  depth: number | null;
  /** Time since the oldest unclaimed row became due. */
  oldest_due_seconds: number;
  in_flight: number;
  /** Deliveries that wait because their clients used their shares of slots. */
  parked: number | null;
  /** The same number on both event lanes: a breaker blocks a client's events on either. */
  open_breakers: number | null;
}

export interface QueueParts {
  db: Queryable;
  redis: RedisClient;
  partitions: number;
}

export function queueStatus({ db, redis, partitions }: QueueParts): Promise<StreamStatus[]> {
  const [streams, parking] = [createStreams(redis, partitions), createParking(redis, partitions)];
  const orNull = (answer: Promise<number>) => answer.catch(() => null);
  return Promise.all(
    streams.all.map(async ({ lane, partition, key }) => {
      const place = { partitions, partition };
      const isEventLane = lane !== "outbound";
      const [depth, parked, open_breakers, { oldest_due_at, in_flight }] = await Promise.all([
        orNull(streams.depth(key)),
        isEventLane ? orNull(parking.count(lane, partition)) : 0,
        isEventLane ? orNull(countOpenBreakers(redis, partition)) : 0,
        isEventLane ? measureDeliveries(db, { ...place, isBulk: lane === "bulk" }) : measureSends(db, place),
      ]);
      const age = oldest_due_at === null ? 0 : Math.max(0, Date.now() - oldest_due_at.getTime());
      const oldest_due_seconds = Math.round(age / SECOND);
      return { stream: key, depth, oldest_due_seconds, in_flight, parked, open_breakers };
    }),
  );
}
