import type { Breakers } from "../../../src/queue/breakers.ts";
import type { Parking } from "../../../src/queue/parking.ts";
import type { Streams } from "../../../src/queue/streams.ts";
import { shuffled } from "../../../src/runtime/shuffle.ts";
import type { InFlightDeliveries } from "./in-flight.ts";

interface PeerWatchParts {
  streams: Streams;
  parking: Parking;
  breakers: Breakers;
  deliveries: InFlightDeliveries;
}

/** Reads the other dispatchers' breakers, and starts deliveries that they parked, because they may be dead. */
export async function checkPeers(parts: PeerWatchParts): Promise<void> {
  const { streams, parking, breakers, deliveries } = parts;
  await breakers.refresh();
  for (const { lane, partition } of streams.eventStreams) {
    const clients = await parking.clients(lane, partition);
    // Random order is fair when there are not enough free slots for all clients. They share a refill.
    await Promise.all(shuffled(clients).map((clientId) => deliveries.unpark(lane, clientId)));
  }
}
