import type { Queryable } from "../../store/database.ts";
import { measureQueue } from "../../store/queue-figures.ts";
import type { RedisClient } from "../redis.ts";
import { countOpen } from "./breakers.ts";
import { createParking, type Parking } from "./parking.ts";
import { createStreams, type Stream, type Streams } from "./streams.ts";

/** How it stands with one stream. What only Redis knows is null while it is away. */
export interface StreamStatus {
  stream: string;
  /** Entries that lie in it, read or not. */
  depth: number | null;
  /** How long the oldest delivery has been due that nobody has in hand. */
  oldest_due_seconds: number;
  in_flight: number;
  /** Set aside, because their clients have as many calls open as they may. */
  parked: number | null;
}

interface QueueParts {
  db: Queryable;
  streams: Streams;
  parking: Parking;
}

export const queueStatus = ({ db, streams, parking }: QueueParts): Promise<StreamStatus[]> =>
  Promise.all(streams.all.map((stream) => streamStatus({ db, streams, parking }, stream)));

async function streamStatus({ db, streams, parking }: QueueParts, stream: Stream): Promise<StreamStatus> {
  const { lane, partition, key } = stream;
  const place = { isBulk: lane === "bulk", partitions: streams.partitions, partition };
  const [depth, parked, { oldest_due_at, in_flight }] = await Promise.all([
    streams.depth(key).catch(() => null),
    parking.count(lane, partition).catch(() => null),
    measureQueue(db, place),
  ]);
  const age = oldest_due_at === null ? 0 : Math.max(0, Date.now() - oldest_due_at.getTime());
  return { stream: key, depth, oldest_due_seconds: Math.round(age / 1_000), in_flight, parked };
}

/** The same with what a dispatcher knows by itself. */
export interface StreamReport extends StreamStatus {
  /** Destinations left alone for a while. On both lanes, for it holds up a client's events on either. */
  open_breakers: number | null;
}

interface ReportParts {
  db: Queryable;
  redis: RedisClient;
  partitions: number;
}

/** For those who only look at the queue. */
export function queueReport({ db, redis, partitions }: ReportParts): Promise<StreamReport[]> {
  const streams = createStreams(redis, partitions);
  const parts = { db, streams, parking: createParking(redis, partitions) };
  return Promise.all(
    streams.all.map(async (stream) => {
      const [status, open_breakers] = await Promise.all([
        streamStatus(parts, stream),
        countOpen(redis, stream.partition).catch(() => null),
      ]);
      return { ...status, open_breakers };
    }),
  );
}
