import type { Breakers } from "../../../src/queue/breakers.ts";
import type { Parking } from "../../../src/queue/parking.ts";
import type { Streams } from "../../../src/queue/streams.ts";
import type { ConcurrencyLimiter } from "../concurrency-limiter.ts";
import type { InFlightDeliveries } from "./in-flight.ts";

interface PeerWatchParts {
  streams: Streams;
  parking: Parking;
  breakers: Breakers;
  limiter: ConcurrencyLimiter;
  deliveries: InFlightDeliveries;
}

/** What the others have found out, and what they have set aside: who did that may be dead. */
export async function checkPeers(parts: PeerWatchParts): Promise<void> {
  const { streams, parking, breakers, limiter, deliveries } = parts;
  await breakers.refresh();
  for (const { lane, partition } of streams.eventStreams) {
    const clients = await parking.clients(lane, partition);
    // In another order each time: there may not be room for all of them.
    for (const clientId of clients.sort(() => Math.random() - 0.5)) {
      if (limiter.freeSlotsIn(lane) === 0) break;
      await deliveries.unpark(lane, clientId);
    }
  }
}
