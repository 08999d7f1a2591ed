import type { EventLane } from "../../src/queue/streams.ts";

interface LimiterParts {
  /** How many calls this process has open at most. */
  slots: number;
  /** Of a client whose backend fails, or just did. */
  isUnhealthy(clientId: string): boolean;
  /** Of one that a single call may try. */
  isHalfOpen(clientId: string): boolean;
}

/**
 * How many one client may have, by how many are free: with fewer somebody may soon have to wait. The last ones are for those
 * who have hardly any: many backends must hang at the same moment before the others wait for them.
 */
const CLIENT_SHARE_TIERS = [
  { free: 0.25, share: 0.5 },
  { free: 0.1, share: 0.1 },
  { free: 0, share: 0.01 },
] as const;
const UNHEALTHY_SHARE = 0.1;
/** Of all that is told again in bulk, and of one client in that. */
const BULK_SHARE = 0.1;
const BULK_SHARE_PER_CLIENT = 0.05;

export type ConcurrencyLimiter = ReturnType<typeof createConcurrencyLimiter>;

/** Who may have how many of this process's slots: one client's slow backend must not take them from the others. */
export function createConcurrencyLimiter({ slots, isUnhealthy, isHalfOpen }: LimiterParts) {
  const slotsByClient = new Map<string, Record<EventLane, number>>();
  const inUse = { events: 0, bulk: 0 };
  let waiters: (() => void)[] = [];
  const slotShare = (fraction: number) => Math.max(1, Math.floor(slots * fraction));
  const slotsOf = (clientId: string) => slotsByClient.get(clientId) ?? { events: 0, bulk: 0 };
  const free = () => slots - inUse.events - inUse.bulk;

  function capOf(clientId: string): number {
    if (isHalfOpen(clientId)) return 1;
    const fraction = CLIENT_SHARE_TIERS.find((tier) => free() >= slots * tier.free)?.share ?? 0;
    return slotShare(isUnhealthy(clientId) ? Math.min(fraction, UNHEALTHY_SHARE) : fraction);
  }

  const freeSlotsIn = (lane: EventLane): number =>
    Math.max(0, lane === "bulk" ? Math.min(free(), slotShare(BULK_SHARE) - inUse.bulk) : free());

  /** What is told again counts for itself alone, or it would delay what is fresh; of a single trial there is but one. */
  function countedSlots(lane: EventLane, clientId: string): number {
    const { events, bulk } = slotsOf(clientId);
    return lane === "bulk" || isHalfOpen(clientId) ? events + bulk : events;
  }

  function freeSlotsFor(lane: EventLane, clientId: string): number {
    const freeSlots = Math.min(freeSlotsIn(lane), capOf(clientId) - countedSlots(lane, clientId));
    const bulk = lane === "bulk" ? slotShare(BULK_SHARE_PER_CLIENT) - slotsOf(clientId).bulk : freeSlots;
    return Math.max(0, Math.min(freeSlots, bulk));
  }

  return {
    freeSlotsIn,
    freeSlotsFor,
    /** How many are taken. */
    used: () => slots - free(),
    /** Waits until the lane has a free slot. */
    async waitForFreeSlots(lane: EventLane): Promise<number> {
      while (freeSlotsIn(lane) === 0) await new Promise<void>((resolve) => waiters.push(resolve));
      return freeSlotsIn(lane);
    },
    /** One slot, or false where the client has all that it may have. */
    acquire(lane: EventLane, clientId: string): boolean {
      if (freeSlotsFor(lane, clientId) === 0) return false;
      inUse[lane] += 1;
      const current = slotsOf(clientId);
      slotsByClient.set(clientId, { ...current, [lane]: current[lane] + 1 });
      return true;
    },
    release(lane: EventLane, clientId: string): void {
      inUse[lane] -= 1;
      const current = slotsOf(clientId);
      const remaining = { ...current, [lane]: current[lane] - 1 };
      if (remaining.events + remaining.bulk > 0) slotsByClient.set(clientId, remaining);
      else slotsByClient.delete(clientId);
      const woken = waiters;
      waiters = [];
      for (const wake of woken) wake();
    },
  };
}
