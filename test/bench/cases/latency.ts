import type { BenchCase, Contestant, Variant } from "../frame/case.ts";
import type { BenchContext } from "../frame/context.ts";
import { startCpuCount } from "../frame/cpu.ts";
import { percentilesOf } from "../load/percentiles.ts";
import { type Receiver, startReceiver } from "../programs/receiver.ts";
import { startBullmqEvents } from "../systems/bullmq-events.ts";
import { clientIdsOf, makeDestinations } from "../systems/destinations.ts";
import { draftsFor } from "../systems/drafts.ts";
import type { CommittedEvent, EventSystem } from "../systems/event-system.ts";
import { startHeraldEvents } from "../systems/herald-events.ts";
import { makePeerTables } from "../systems/peer-events.ts";
import { atRate } from "../systems/steady-load.ts";

const [SLOTS, DESTINATIONS, ROUND_SECONDS] = [200, 20, 10];

/** Milliseconds from the commit of each event to its arrival; infinite for an event that did not arrive. */
export async function latenciesOf(events: readonly CommittedEvent[], backend: Receiver): Promise<number[]> {
  const arrivedAt = new Map((await backend.arrivals()).map(([id, [first]]) => [id, first]));
  return events.map(({ id, at }) => (arrivedAt.get(id) ?? Number.POSITIVE_INFINITY) - at);
}

interface Load {
  perSecond: number;
  count: number;
  clientIds: readonly string[];
}

/** A contestant that gets events at a constant rate. Measures `p50` and `p99` from commit to arrival. */
const latencyContestant = (system: EventSystem, backend: Receiver, load: Load): Contestant => ({
  name: system.name,
  async run() {
    const drafts = draftsFor(load.clientIds, load.count);
    await backend.reset();
    const cpuPerItem = startCpuCount(system.processes);
    const arrived = backend.waitFor(load.count);
    const events = await atRate(load, (index) => system.emit(drafts[index] as (typeof drafts)[number]));
    await arrived;
    const cpu = cpuPerItem(load.count);
    return { values: percentilesOf(await latenciesOf(events, backend)), cpu };
  },
});

async function start(context: BenchContext, perSecond: number): Promise<Contestant[]> {
  const backend = await startReceiver(context, "backend");
  const destinations = await makeDestinations(
    context,
    backend,
    Array(context.isSmokeTest ? 2 : DESTINATIONS).fill("ok"),
  );
  await makePeerTables(context, destinations);
  const systems = await Promise.all([
    startHeraldEvents(context, { slots: SLOTS }),
    startBullmqEvents(context, SLOTS),
  ]);
  const count = context.count(perSecond * ROUND_SECONDS, 5);
  const load = { perSecond, count, clientIds: clientIdsOf(destinations) };
  return systems.map((system) => latencyContestant(system, backend, load));
}

const variant = (perSecond: number): Variant => ({
  name: String(perSecond),
  measures: (["p50", "p99"] as const).map((value) => ({
    value,
    suffix: value,
    unit: "ms",
    better: "lower",
    targets: { bullmq: 1 },
  })),
  isInSmokeTest: perSecond === 100,
  start: (context) => start(context, perSecond),
});

/** The time from the commit of an event to its arrival at the client's backend, at a low rate. */
export const LATENCY: BenchCase = { name: "latency", variants: [variant(10), variant(100)] };
