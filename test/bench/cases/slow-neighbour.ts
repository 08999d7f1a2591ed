import { setTimeout as sleep } from "node:timers/promises";
import type { BenchCase, Contestant } from "../frame/case.ts";
import type { BenchContext } from "../frame/context.ts";
import { startCpuCount } from "../frame/cpu.ts";
import { percentilesOf } from "../load/percentiles.ts";
import { type Receiver, startReceiver } from "../programs/receiver.ts";
import { startBullmqEvents } from "../systems/bullmq-events.ts";
import { type BackendMode, clientIdsOf, makeDestinations } from "../systems/destinations.ts";
import { draftFor } from "../systems/drafts.ts";
import type { EventSystem } from "../systems/event-system.ts";
import { startHeraldEvents } from "../systems/herald-events.ts";
import { addPeerDestinations, makePeerTables } from "../systems/peer-events.ts";
import { atRate } from "../systems/steady-load.ts";
import { latenciesOf } from "./latency.ts";

const [SLOTS, HEALTHY_CLIENTS] = [50, 20];
const SICK_MODES: readonly BackendMode[] = ["hang", "error", "drip"];
/** Every fourth event is for a healthy client's neighbour: 30 per second for the three of them, 90 for the others. */
const [PER_SECOND, SICK_SHARE, ROUND_SECONDS] = [120, 4, 15];
/** Events that have not arrived this long after the last commit count as never arrived. */
const [GRACE_MS, SMOKE_GRACE_MS] = [3_000, 500];

interface Load {
  count: number;
  healthy: readonly string[];
  graceMs: number;
  /** Creates the sick clients of a round: a contestant must not know them from an earlier one. */
  makeSick(): Promise<string[]>;
}

/** A contestant that gets events for healthy and sick clients. Measures the arrival of the healthy ones' events. */
const neighbourContestant = (system: EventSystem, backend: Receiver, load: Load): Contestant => ({
  name: system.name,
  async run() {
    const { healthy, count } = load;
    const sick = await load.makeSick();
    await backend.reset();
    const cpuPerItem = startCpuCount(system.processes);
    const events = await atRate({ perSecond: PER_SECOND, count }, async (index) => {
      const isSick = index % SICK_SHARE === 0;
      const clients = isSick ? sick : healthy;
      const clientId = clients[Math.floor(index / (isSick ? SICK_SHARE : 1)) % clients.length] as string;
      return { isSick, ...(await system.emit(draftFor(clientId, index))) };
    });
    await sleep(load.graceMs);
    const cpu = cpuPerItem(count);
    const expected = events.filter(({ isSick }) => !isSick);
    const latencies = await latenciesOf(expected, backend);
    await system.clear?.(backend.release);
    const arrived = latencies.filter(Number.isFinite).length;
    return { values: { ...percentilesOf(latencies), arrived: (100 * arrived) / expected.length }, cpu };
  },
});

async function start(context: BenchContext): Promise<Contestant[]> {
  const backend = await startReceiver(context, "backend");
  const destinations = await makeDestinations(context, backend, Array(HEALTHY_CLIENTS).fill("ok"));
  await makePeerTables(context, destinations);
  const systems = await Promise.all([
    startHeraldEvents(context, { slots: SLOTS }),
    startBullmqEvents(context, SLOTS),
  ]);
  const load: Load = {
    count: context.count(PER_SECOND * ROUND_SECONDS, 24),
    healthy: clientIdsOf(destinations),
    graceMs: context.isSmokeTest ? SMOKE_GRACE_MS : GRACE_MS,
    async makeSick() {
      const sick = await makeDestinations(context, backend, SICK_MODES);
      await addPeerDestinations(context, sick);
      return clientIdsOf(sick);
    },
  };
  return systems.map((system) => neighbourContestant(system, backend, load));
}

/** One client's backend hangs, one answers 500, one sends its answer byte by byte: how soon do others get their events? */
export const SLOW_NEIGHBOUR: BenchCase = {
  name: "slow-neighbour",
  variants: [
    {
      name: "50-slots",
      measures: [
        { value: "p99", suffix: "p99", unit: "ms", better: "lower", targets: { bullmq: 20 }, limit: 100 },
        { value: "arrived", suffix: "arrived", unit: "%", better: "higher", limit: 100 },
      ],
      isInSmokeTest: true,
      start,
    },
  ],
};
