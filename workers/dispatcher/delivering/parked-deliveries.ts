import type { Parking } from "../../../src/queue/parking.ts";
import type { EventLane } from "../../../src/queue/streams.ts";
import { SECOND } from "../../../src/runtime/durations.ts";
import type { Database } from "../../../src/store/database/database.ts";
import type { DeliveryRef } from "../../../src/store/events/delivery-refs.ts";
import { unmarkQueued } from "../../../src/store/events/sweep-deliveries.ts";

/** A delivery that does not fit into its client's parking is due again after this time. */
const PARKING_FULL_RETRY_MS = 5 * SECOND;

interface ParkedParts {
  db: Database;
  parking: Parking;
  /** How many deliveries of the client may start now; 0 while the process stops. */
  freeSlotsFor(lane: EventLane, clientId: string): number;
  /** False where the process stops before they are claimed. */
  dispatch(lane: EventLane, refs: readonly DeliveryRef[]): Promise<boolean>;
  /** Repeats until it succeeds; undefined where the process stops first. */
  retry<T>(work: () => Promise<T>): Promise<T | undefined>;
}

/** Deliveries of clients that have all their slots: they wait in Redis, and start when a call of their client ends. */
export function createParkedDeliveries({ db, parking, ...parts }: ParkedParts) {
  const unparking = new Map<string, Promise<void>>();
  const parkedClients: Record<EventLane, Set<string>> = { events: new Set(), bulk: new Set() };

  /** False where the process stops before all of them are parked or postponed. */
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

  /** Starts what is parked of this client, as far as it has free slots. */
  async function unpark(lane: EventLane, clientId: string): Promise<void> {
    const name = `${lane} ${clientId}`;
    if (!unparking.has(name) && parts.freeSlotsFor(lane, clientId) > 0)
      unparking.set(name, refill(lane, clientId, name));
    await unparking.get(name);
  }

  /** Reads the free slots again each time: of calls that end together only the first gets as far as this. */
  async function refill(lane: EventLane, clientId: string, name: string): Promise<void> {
    let freeSlots = parts.freeSlotsFor(lane, clientId);
    while (freeSlots > 0) {
      const ids = await parking.pop(lane, clientId, freeSlots).catch(() => []);
      if (ids.length < freeSlots) parkedClients[lane].delete(clientId);
      const refs = ids.map((id) => ({ clientId, id }));
      if (!(await parts.dispatch(lane, refs))) await parking.park(lane, clientId, ids).catch(() => {});
      freeSlots = ids.length < freeSlots ? 0 : parts.freeSlotsFor(lane, clientId);
    }
    unparking.delete(name); // in the same turn as the last read, or a slot that is freed in between would be missed
  }

  return {
    park,
    unpark,
    has: (lane: EventLane, clientId: string): boolean => parkedClients[lane].has(clientId),
    /** The unparkings that are under way. */
    running: (): Promise<void>[] => [...unparking.values()],
  };
}

function idsByClient(refs: readonly DeliveryRef[]): Map<string, string[]> {
  const byClient = new Map<string, string[]>();
  for (const { clientId, id } of refs) byClient.set(clientId, [...(byClient.get(clientId) ?? []), id]);
  return byClient;
}
