import type { Breakers } from "../../../src/queue/breakers.ts";
import type { Parking } from "../../../src/queue/parking.ts";
import type { Streams } from "../../../src/queue/streams.ts";
import type { Gate } from "../concurrency-limiter.ts";
import type { Deliveries } from "./in-flight.ts";

interface LookoutParts {
  streams: Streams;
  parking: Parking;
  breakers: Breakers;
  gate: Gate;
  deliveries: Deliveries;
}

/** What the others have found out, and what they have set aside: who did that may be dead. */
export async function lookAround(parts: LookoutParts): Promise<void> {
  const { streams, parking, breakers, gate, deliveries } = parts;
  await breakers.look();
  for (const { lane, partition } of streams.ofEvents) {
    const clients = await parking.clients(lane, partition);
    // In another order each time: there may not be room for all of them.
    for (const clientId of clients.sort(() => Math.random() - 0.5)) {
      if (gate.roomIn(lane) === 0) break;
      await deliveries.unpark(lane, clientId);
    }
  }
}
