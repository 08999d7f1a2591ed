/**
 * Divides this process's slots among keys (clients or channels), so that a slow destination does not take them from others.
 * A slot is free or in use. `acquire` takes one within the caps of the lane and the key; `release` frees it.
 * A key's cap shrinks while few slots are free or the key is unhealthy; a half-open key has one slot.
 */

/** The limits of a lane, as shares of all slots. */
interface LaneLimits {
  /** For all keys together. */
  share: number;
  sharePerKey: number;
  /** True when a key's slots in other lanes count against its cap. */
  countsOtherLanes: boolean;
}

interface LimiterParts<L extends string> {
  /** Maximum number of open calls of this process. */
  slots: number;
  lanes: Readonly<Record<L, LaneLimits>>;
  /** True when calls for this key have failed recently. */
  isUnhealthy?(key: string): boolean;
  /** True when this key's destination may only be probed, by a single call. */
  isHalfOpen?(key: string): boolean;
}

/**
 * The share of a key, by the share of slots that is free. The last slots are reserved for keys with hardly any: many
 * destinations must hang at the same time before others have to wait.
 */
const KEY_SHARE_TIERS = [
  { free: 0.25, share: 0.5 },
  { free: 0.1, share: 0.1 },
  { free: 0, share: 0.01 },
] as const;
const UNHEALTHY_SHARE = 0.1;

interface SlotCounts<L extends string> {
  total: number;
  byLane: Record<L, number>;
}

export type ConcurrencyLimiter<L extends string> = ReturnType<typeof createConcurrencyLimiter<L>>;

export function createConcurrencyLimiter<L extends string>({
  slots,
  lanes,
  isUnhealthy = () => false,
  isHalfOpen = () => false,
}: LimiterParts<L>) {
  const noSlots = (): SlotCounts<L> => ({
    total: 0,
    byLane: Object.fromEntries(Object.keys(lanes).map((lane) => [lane, 0])) as Record<L, number>,
  });
  const none = noSlots();
  const inUse = noSlots();
  const slotsByKey = new Map<string, SlotCounts<L>>();
  const slotShare = (share: number) => Math.max(1, Math.floor(slots * share));
  const slotsOf = (key: string) => slotsByKey.get(key) ?? none;
  const free = () => slots - inUse.total;

  function capOf(key: string): number {
    if (isHalfOpen(key)) return 1;
    const share = KEY_SHARE_TIERS.find((tier) => free() >= slots * tier.free)?.share ?? 0;
    return slotShare(isUnhealthy(key) ? Math.min(share, UNHEALTHY_SHARE) : share);
  }

  const freeSlotsIn = (lane: L): number =>
    Math.max(0, Math.min(free(), slotShare(lanes[lane].share) - inUse.byLane[lane]));

  /** A probe is a single call over all lanes. */
  const countedSlots = (lane: L, key: string): number =>
    lanes[lane].countsOtherLanes || isHalfOpen(key) ? slotsOf(key).total : slotsOf(key).byLane[lane];

  const freeSlotsFor = (lane: L, key: string): number =>
    Math.max(
      0,
      Math.min(
        freeSlotsIn(lane),
        capOf(key) - countedSlots(lane, key),
        slotShare(lanes[lane].sharePerKey) - slotsOf(key).byLane[lane],
      ),
    );

  const change = (lane: L, key: string, by: 1 | -1): void => {
    const own = slotsByKey.get(key) ?? noSlots();
    for (const counts of [inUse, own]) {
      counts.total += by;
      counts.byLane[lane] += by;
    }
    if (own.total > 0) slotsByKey.set(key, own);
    else slotsByKey.delete(key);
  };

  return {
    used: () => slots - free(),
    /** Free slots of all lanes. */
    freeSlots: free,
    /** Takes one slot; false when the lane or the key has reached its cap. */
    acquire(lane: L, key: string): boolean {
      if (freeSlotsFor(lane, key) === 0) return false;
      change(lane, key, 1);
      return true;
    },
    /** Takes up to `count` slots; returns how many. The cap of a key shrinks with each one. */
    acquireUpTo(lane: L, key: string, count: number): number {
      let taken = 0;
      while (taken < count && this.acquire(lane, key)) taken += 1;
      return taken;
    },
    release(lane: L, key: string): void {
      change(lane, key, -1);
    },
  };
}

/** Lanes of events: fresh ones, and replays in bulk, which share the slots and never delay fresh ones. */
export type EventLane = "events" | "bulk";

export const laneOf = (isBulk: boolean): EventLane => (isBulk ? "bulk" : "events");

const UNRESTRICTED: LaneLimits = { share: 1, sharePerKey: 1, countsOtherLanes: false };

export const DELIVERY_LANES: Readonly<Record<EventLane, LaneLimits>> = {
  events: UNRESTRICTED,
  bulk: { share: 0.1, sharePerKey: 0.05, countsOtherLanes: true },
};

/**
 * Lanes of messages: single ones, and those of batches, which leave slots to single ones, on their channel too: a quarter of all
 * before the tiers limit the single messages of a channel.
 */
export type SendLane = "outbound" | "batches";

export const sendLaneOf = (batchId: string): SendLane => (batchId === "" ? "outbound" : "batches");

export const SEND_LANES: Readonly<Record<SendLane, LaneLimits>> = {
  outbound: UNRESTRICTED,
  batches: { share: 0.5, sharePerKey: 0.25, countsOtherLanes: true },
};
