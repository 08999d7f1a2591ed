import { LRUCache } from "lru-cache";
import { DAY, SECOND } from "../../runtime/durations.ts";
import { createShares, type Shares } from "../../runtime/shares.ts";
import { createOpenBodies, MAX_SMALL_BYTES, type OpenBodies, type ReadLimits } from "./open-bodies.ts";
import type { BodyPartName } from "./raw-body.ts";

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
