import type { Breakers } from "../../src/dispatch/queue/breakers.ts";
import type { Parking } from "../../src/dispatch/queue/parking.ts";
import type { Streams } from "../../src/dispatch/queue/streams.ts";
import type { Deliveries } from "./deliveries.ts";

interface LookoutParts {
  streams: Streams;
  parking: Parking;
  breakers: Breakers;
  deliveries: Deliveries;
}

/** What the others have found out, and what they have set aside: who did that may be dead. */
export async function lookAround({ streams, parking, breakers, deliveries }: LookoutParts): Promise<void> {
  await breakers.look();
  for (const { lane, partition } of streams.all)
    for (const clientId of await parking.clients(lane, partition)) deliveries.unpark(lane, clientId);
}
