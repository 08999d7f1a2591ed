import type { Parking } from "../../../src/queue/parking.ts";
import type { EventLane } from "../../../src/queue/streams.ts";
import { SECOND } from "../../../src/runtime/durations.ts";
import type { Database } from "../../../src/store/database/database.ts";
import type { DeliveryRef } from "../../../src/store/events/delivery-refs.ts";
import { unmarkQueued } from "../../../src/store/events/sweep-deliveries.ts";

/**
 * A delivery of a client without free slots is parked in Redis, or postponed in its row when it does not fit: see `park`.
 * `unpark` takes it out and dispatches it, when a call of the client ends and in the periodic check of peers.
 * At most one refill runs per lane and client; it ends when the slots or the parked deliveries run out.
 */

/** A delivery that does not fit into its client's parking is due again after this time. */
const PARKING_FULL_RETRY_MS = 5 * SECOND;

interface ParkedParts {
  db: Database;
  parking: Parking;
  /** Deliveries of the client that may start now; 0 while the process stops. */
  freeSlotsFor(lane: EventLane, clientId: string): number;
  /** False when the process stops before all of them are claimed or parked. */
  dispatch(lane: EventLane, refs: readonly DeliveryRef[]): Promise<boolean>;
  /** Retries until it succeeds; undefined when the process stops first. */
  retry<T>(work: () => Promise<T>): Promise<T | undefined>;
}

export function createParkedDeliveries({ db, parking, ...parts }: ParkedParts) {
  const unparking = new Map<string, Promise<void>>();
  const parkedClients: Record<EventLane, Set<string>> = { events: new Set(), bulk: new Set() };

  /** False when the process stops before all of them are parked or postponed. */
  async function park(lane: EventLane, refs: readonly DeliveryRef[]): Promise<boolean> {
    const rejected: DeliveryRef[] = [];
    for (const [clientId, ids] of idsByClient(refs)) {
      parkedClients[lane].add(clientId);
      const left = await parking.park(lane, clientId, ids).catch(() => ids);
      rejected.push(...left.map((id) => ({ clientId, id })));
    }
    if (rejected.length === 0) return true;
    const postponed = await parts.retry(async () => {
      await unmarkQueued(db, rejected, PARKING_FULL_RETRY_MS);
      return true;
    });
    return postponed ?? false;
  }

  /** Starts parked deliveries of this client as far as it has free slots. */
  async function unpark(lane: EventLane, clientId: string): Promise<void> {
    const name = `${lane} ${clientId}`;
    if (!unparking.has(name) && parts.freeSlotsFor(lane, clientId) > 0)
      unparking.set(name, refill(lane, clientId, name));
    await unparking.get(name);
  }

  /** Reads the free slots again after each batch, because a call that ends meanwhile starts no second refill. */
  async function refill(lane: EventLane, clientId: string, name: string): Promise<void> {
    let freeSlots = parts.freeSlotsFor(lane, clientId);
    while (freeSlots > 0) {
      const ids = await parking.pop(lane, clientId, freeSlots).catch(() => []);
      if (ids.length < freeSlots) parkedClients[lane].delete(clientId);
      const refs = ids.map((id) => ({ clientId, id }));
      if (!(await parts.dispatch(lane, refs))) await parking.park(lane, clientId, ids).catch(() => {});
      freeSlots = ids.length < freeSlots ? 0 : parts.freeSlotsFor(lane, clientId);
    }
    unparking.delete(name); // in the same turn as the last read: a slot freed in between would be missed
  }

  return {
    park,
    unpark,
    has: (lane: EventLane, clientId: string): boolean => parkedClients[lane].has(clientId),
    /** Refills in progress. */
    running: (): Promise<void>[] => [...unparking.values()],
  };
}

function idsByClient(refs: readonly DeliveryRef[]): Map<string, string[]> {
  const byClient = new Map<string, string[]>();
  for (const { clientId, id } of refs) byClient.set(clientId, [...(byClient.get(clientId) ?? []), id]);
  return byClient;
}
