import type { ClientIds, Parking } from "../../../src/queue/parking.ts";
import type { EventLane } from "../../../src/queue/streams.ts";
import { endOfTurn } from "../../../src/runtime/async/end-of-turn.ts";
import { SECOND } from "../../../src/runtime/durations.ts";
import type { Database } from "../../../src/store/database/database.ts";
import type { DeliveryRef } from "../../../src/store/events/delivery-refs.ts";
import { unmarkQueued } from "../../../src/store/events/sweep-deliveries.ts";

/**
 * A delivery of a client without free slots is parked in Redis, or postponed in its row when it does not fit: see `park`.
 * `unpark` takes it out and dispatches it, when a call of the client ends and in the periodic check of peers.
 * A lane has one refill at a time. It takes the deliveries of all clients that have free slots, so that one statement
 * claims them; it ends when the slots or the parked deliveries run out.
 */

/** A delivery that does not fit into its client's parking is due again after this time. */
const PARKING_FULL_RETRY_MS = 5 * SECOND;

interface ParkedParts {
  db: Database;
  parking: Parking;
  /** Deliveries that may start now, of all clients and of one; 0 while the process stops. */
  freeSlotsIn(lane: EventLane): number;
  freeSlotsFor(lane: EventLane, clientId: string): number;
  /** False when the process stops before all of them are claimed or parked. */
  dispatch(lane: EventLane, refs: readonly DeliveryRef[]): Promise<boolean>;
  /** Retries until it succeeds; undefined when the process stops first. */
  retry<T>(work: () => Promise<T>): Promise<T | undefined>;
}

export function createParkedDeliveries({ db, parking, ...parts }: ParkedParts) {
  const refills: Partial<Record<EventLane, Promise<void>>> = {};
  const parkedClients = clientsByLane();
  /** Clients of which a call has ended since their last refill. */
  const waitingClients = clientsByLane();

  /** False when the process stops before all of them are parked or postponed. */
  async function park(lane: EventLane, refs: readonly DeliveryRef[]): Promise<boolean> {
    if (refs.length === 0) return true;
    for (const { clientId } of refs) parkedClients[lane].add(clientId);
    const left = await parking.park(lane, groupByClient(refs)).catch(() => refs.map(({ id }) => id));
    if (left.length === 0) return true;
    const leftIds = new Set(left);
    const rejected = refs.filter(({ id }) => leftIds.has(id));
    const postponed = await parts.retry(async () => {
      await unmarkQueued(db, rejected, PARKING_FULL_RETRY_MS);
      return true;
    });
    return postponed ?? false;
  }

  /** Starts parked deliveries of this client as far as it has free slots. */
  async function unpark(lane: EventLane, clientId: string): Promise<void> {
    waitingClients[lane].add(clientId);
    refills[lane] ??= refill(lane);
    await refills[lane];
  }

  async function refill(lane: EventLane): Promise<void> {
    do {
      await endOfTurn(); // calls that end in the same turn share a refill
      const refs = await popParked(lane);
      if (refs.length > 0 && !(await parts.dispatch(lane, refs)))
        await parking.park(lane, groupByClient(refs)).catch(() => {});
    } while (waitingClients[lane].size > 0);
    delete refills[lane]; // in the same turn as the last check: a slot freed in between would be missed
  }

  async function popParked(lane: EventLane): Promise<DeliveryRef[]> {
    const wanted = takeWanted(lane);
    if (wanted.length === 0) return [];
    const popped = await parking.pop(lane, wanted).catch(() => []);
    const countsByClient = new Map(wanted.map(({ clientId, count }) => [clientId, count]));
    for (const { clientId, ids } of popped)
      if (ids.length < (countsByClient.get(clientId) ?? 0)) parkedClients[lane].delete(clientId);
    return popped.flatMap(({ clientId, ids }) => ids.map((id) => ({ clientId, id })));
  }

  /** Divides the free slots among the waiting clients. */
  function takeWanted(lane: EventLane): { clientId: string; count: number }[] {
    const clients = [...waitingClients[lane]];
    waitingClients[lane].clear();
    let freeSlots = parts.freeSlotsIn(lane);
    const wanted = clients.map((clientId) => {
      const count = Math.min(freeSlots, parts.freeSlotsFor(lane, clientId));
      freeSlots -= count;
      return { clientId, count };
    });
    return wanted.filter(({ count }) => count > 0);
  }

  return {
    park,
    unpark,
    has: (lane: EventLane, clientId: string): boolean => parkedClients[lane].has(clientId),
    /** Refills in progress. */
    running: (): Promise<void>[] => Object.values(refills),
  };
}

const clientsByLane = (): Record<EventLane, Set<string>> => ({ events: new Set(), bulk: new Set() });

function groupByClient(refs: readonly DeliveryRef[]): ClientIds[] {
  const idsByClient = new Map<string, string[]>();
  for (const { clientId, id } of refs) {
    const ids = idsByClient.get(clientId);
    if (ids) ids.push(id);
    else idsByClient.set(clientId, [id]);
  }
  return [...idsByClient].map(([clientId, ids]) => ({ clientId, ids }));
}
