import type { Breakers } from "../../../src/queue/breakers.ts";
import type { Parking } from "../../../src/queue/parking.ts";
import type { EventLane, Streams } from "../../../src/queue/streams.ts";
import { shuffled } from "../../../src/runtime/shuffle.ts";
import type { ConcurrencyLimiter } from "../concurrency-limiter.ts";
import type { InFlightDeliveries } from "./in-flight.ts";

interface PeerWatchParts {
  streams: Streams;
  parking: Parking;
  breakers: Breakers;
  limiter: ConcurrencyLimiter<EventLane>;
  deliveries: InFlightDeliveries;
}

/** Reads the other dispatchers' breakers, and starts deliveries that they parked, because they may be dead. */
export async function checkPeers(parts: PeerWatchParts): Promise<void> {
  const { streams, parking, breakers, limiter, deliveries } = parts;
  await breakers.refresh();
  for (const { lane, partition } of streams.eventStreams) {
    const clients = await parking.clients(lane, partition);
    // Random order is fair when there are not enough free slots for all clients.
    for (const clientId of shuffled(clients)) {
      if (limiter.freeSlotsIn(lane) === 0) break;
      await deliveries.unpark(lane, clientId);
    }
  }
}
