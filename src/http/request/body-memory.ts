import { LRUCache } from "lru-cache";
import { createShares, type Shares } from "../../runtime/async/shares.ts";
import { createWatch } from "../../runtime/async/watch.ts";
import { DAY, MINUTE, SECOND } from "../../runtime/durations.ts";
import { ApiError, CLOSE_CONNECTION } from "../api-error.ts";
import type { BodyPartName } from "../route.ts";

/** The memory for the bodies of one kind of routes. */
export interface BodyPart {
  shares: Shares;
  openBodies: OpenBodies;
}

/** Divides the memory for request bodies, so that the callers of one part never take the memory of another one. */
export interface BodyMemory {
  partOf(name: BodyPartName, key: string): BodyPart;
  /** Records that a valid webhook came from this network: its next ones use memory that strangers cannot take. */
  addKnownSender(network: string): void;
}

const PARTS = { clients: 3 / 8, handedOn: 5 / 16, webhook: 1 / 8, knownWebhook: 1 / 8, public: 1 / 16 };

/** One key holds at most this share of a part. */
const SHARE_OF_KEY = 1 / 4;
/** This share of a part serves only small bodies. */
const RESERVE = 1 / 8;

const MAX_WAITING_PER_KEY = 32;
const MAX_WAIT_MS = 10 * SECOND;

const KNOWN_SENDER_TTL_MS = 1 * DAY;
const MAX_KNOWN_SENDERS = 10_000;

interface BodyMemoryOptions extends Partial<ReadLimits> {
  maxWaitMs?: number;
}

export function createBodyMemory(
  maxBytes: number,
  { maxWaitMs = MAX_WAIT_MS, ...limits }: BodyMemoryOptions = {},
): BodyMemory {
  const part = (fraction: number, shareOfKey: number): BodyPart => {
    const openBodies = createOpenBodies(limits);
    const capacity = maxBytes * fraction;
    const shares = createShares({
      capacity,
      share: capacity * shareOfKey,
      reserve: { amount: capacity * RESERVE, upTo: MAX_SMALL_BYTES },
      maxWaitingPerKey: MAX_WAITING_PER_KEY,
      maxWaitMs,
      makeRoom: openBodies.endSlowest,
    });
    return { shares, openBodies };
  };
  const parts = {
    clients: part(PARTS.clients, SHARE_OF_KEY),
    handedOn: part(PARTS.handedOn, SHARE_OF_KEY),
    webhook: part(PARTS.webhook, SHARE_OF_KEY),
    public: part(PARTS.public, SHARE_OF_KEY),
  };
  const knownWebhook = part(PARTS.knownWebhook, 1);
  const knownSenders = new LRUCache<string, true>({ max: MAX_KNOWN_SENDERS, ttl: KNOWN_SENDER_TTL_MS });
  return {
    partOf: (name, key) => (name === "webhook" && knownSenders.has(key) ? knownWebhook : parts[name]),
    addKnownSender: (network) => void knownSenders.set(network, true),
  };
}

/** A body whose bytes are arriving. */
export interface OpenBody {
  /** The declared length; undefined for a chunked body. */
  declared: number | undefined;
  /** Bytes that have arrived. */
  size: number;
  /** Milliseconds since the first read. */
  ageMs: number;
  /** Milliseconds in which we read: without those in which the sender had to wait for us. */
  readMs: number;
  isPaused(): boolean;
  /** Ends the request with this error and frees the memory at once. */
  end(error: ApiError): void;
}

/** The bodies that are being read. Ends those that are too slow with 408. */
interface OpenBodies {
  add(body: OpenBody): void;
  delete(body: OpenBody): void;
  /** Ends the slowest body with 503, to make room for another one. False when none is slow. */
  endSlowest(): boolean;
}

/** How slowly a body may arrive. */
interface ReadLimits {
  /** From this time on, the average rate of a body counts; a small one has more time. */
  rateAfterMs: number;
  smallRateAfterMs: number;
  minBytesPerSecond: number;
  maxMs: number;
  /** For a body beyond 1 MiB. */
  largeMaxMs: number;
}

export const READ_LIMITS: ReadLimits = {
  rateAfterMs: 5 * SECOND,
  smallRateAfterMs: 10 * SECOND,
  minBytesPerSecond: 16_384,
  maxMs: 30 * SECOND,
  largeMaxMs: 10 * MINUTE,
};

const MAX_SMALL_BYTES = 65_536;
const MAX_MEDIUM_BYTES = 1_048_576;

/** A body this old and this slow may be ended in favour of another one. */
const SLOW_AFTER_MS = 1 * SECOND;
const SLOW_BYTES_PER_SECOND = 65_536;

const CHECK_INTERVAL_MS = 250;

function createOpenBodies(limits: Partial<ReadLimits> = {}): OpenBodies {
  const { rateAfterMs, smallRateAfterMs, minBytesPerSecond, maxMs, largeMaxMs } = {
    ...READ_LIMITS,
    ...limits,
  };
  const isTooSlow = (body: OpenBody) => {
    const bytes = Math.max(body.size, body.declared ?? 0);
    if (body.ageMs >= (bytes > MAX_MEDIUM_BYTES ? largeMaxMs : maxMs)) return true;
    const startsAfterMs = bytes > MAX_SMALL_BYTES ? rateAfterMs : smallRateAfterMs;
    return body.readMs >= startsAfterMs && rateOf(body) < minBytesPerSecond;
  };
  const { items, ...watch } = createWatch<OpenBody>({
    intervalMs: CHECK_INTERVAL_MS,
    isOver(body, ms) {
      body.ageMs += ms;
      if (!body.isPaused()) body.readMs += ms;
      return isTooSlow(body);
    },
    end: (body) => body.end(timedOut()),
  });
  return {
    ...watch,
    endSlowest() {
      let slowest: OpenBody | undefined;
      for (const body of items)
        if (isSlow(body) && (!slowest || rateOf(body) < rateOf(slowest))) slowest = body;
      if (!slowest) return false;
      watch.delete(slowest);
      slowest.end(gaveWay());
      return true;
    },
  };
}

const rateOf = ({ size, readMs }: OpenBody) => (size * SECOND) / Math.max(1, readMs);

const isSlow = (body: OpenBody) => body.ageMs > SLOW_AFTER_MS && rateOf(body) < SLOW_BYTES_PER_SECOND;

const timedOut = () => new ApiError("request_timeout", "The body did not arrive in time", CLOSE_CONNECTION);

const gaveWay = () =>
  new ApiError("overloaded", "The body arrived too slowly while the service is overloaded", CLOSE_CONNECTION);
