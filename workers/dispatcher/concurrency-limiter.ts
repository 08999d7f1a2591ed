import type { EventLane } from "../../src/queue/streams.ts";

interface GateParts {
  /** How many calls this process has open at most. */
  slots: number;
  /** Of a client whose backend fails, or just did. */
  isUnhealthy(clientId: string): boolean;
  /** Of one that a single call may try. */
  isOnTrial(clientId: string): boolean;
}

/**
 * How many one client may have, by how many are free: with fewer somebody may soon have to wait. The last ones are for those
 * who have hardly any: many backends must hang at the same moment before the others wait for them.
 */
const SHARES = [
  { free: 0.25, share: 0.5 },
  { free: 0.1, share: 0.1 },
  { free: 0, share: 0.01 },
] as const;
const UNHEALTHY_SHARE = 0.1;
/** Of all that is told again in bulk, and of one client in that. */
const BULK_SHARE = 0.1;
const BULK_SHARE_OF_ONE = 0.05;

export type Gate = ReturnType<typeof createGate>;

/** Who may have how many of this process's slots: one client's slow backend must not take them from the others. */
export function createGate({ slots, isUnhealthy, isOnTrial }: GateParts) {
  const held = new Map<string, Record<EventLane, number>>();
  const taken = { events: 0, bulk: 0 };
  let waiting: (() => void)[] = [];
  const share = (part: number) => Math.max(1, Math.floor(slots * part));
  const heldBy = (clientId: string) => held.get(clientId) ?? { events: 0, bulk: 0 };
  const free = () => slots - taken.events - taken.bulk;

  function capOf(clientId: string): number {
    if (isOnTrial(clientId)) return 1;
    const part = SHARES.find((tier) => free() >= slots * tier.free)?.share ?? 0;
    return share(isUnhealthy(clientId) ? Math.min(part, UNHEALTHY_SHARE) : part);
  }

  const roomIn = (lane: EventLane): number =>
    Math.max(0, lane === "bulk" ? Math.min(free(), share(BULK_SHARE) - taken.bulk) : free());

  /** What is told again counts for itself alone, or it would delay what is fresh; of a single trial there is but one. */
  function heldBeside(lane: EventLane, clientId: string): number {
    const { events, bulk } = heldBy(clientId);
    return lane === "bulk" || isOnTrial(clientId) ? events + bulk : events;
  }

  function roomFor(lane: EventLane, clientId: string): number {
    const room = Math.min(roomIn(lane), capOf(clientId) - heldBeside(lane, clientId));
    const bulk = lane === "bulk" ? share(BULK_SHARE_OF_ONE) - heldBy(clientId).bulk : room;
    return Math.max(0, Math.min(room, bulk));
  }

  return {
    roomIn,
    roomFor,
    /** How many are taken. */
    used: () => slots - free(),
    /** Waits until the lane has a free slot. */
    async room(lane: EventLane): Promise<number> {
      while (roomIn(lane) === 0) await new Promise<void>((resolve) => waiting.push(resolve));
      return roomIn(lane);
    },
    /** One slot, or false where the client has all that it may have. */
    take(lane: EventLane, clientId: string): boolean {
      if (roomFor(lane, clientId) === 0) return false;
      taken[lane] += 1;
      const now = heldBy(clientId);
      held.set(clientId, { ...now, [lane]: now[lane] + 1 });
      return true;
    },
    give(lane: EventLane, clientId: string): void {
      taken[lane] -= 1;
      const now = heldBy(clientId);
      const left = { ...now, [lane]: now[lane] - 1 };
      if (left.events + left.bulk > 0) held.set(clientId, left);
      else held.delete(clientId);
      const woken = waiting;
      waiting = [];
      for (const wake of woken) wake();
    },
  };
}
