import type { BenchCase, Contestant, Variant } from "../frame/case.ts";
import type { BenchContext } from "../frame/context.ts";
import { startReceiver } from "../programs/receiver.ts";
import { startBullmqEvents } from "../systems/bullmq-events.ts";
import { clientIdsOf, makeDestinations } from "../systems/destinations.ts";
import { draftsFor } from "../systems/drafts.ts";
import type { EventSystem } from "../systems/event-system.ts";
import { startGraphileEvents } from "../systems/graphile-events.ts";
import { startHeraldEvents } from "../systems/herald-events.ts";
import { makePeerTables } from "../systems/peer-events.ts";
import { backlogContestant } from "../systems/work-off-backlog.ts";

const EVENTS_PER_ROUND = 4_000;
/** A quarter of the events: otherwise this contestant would take most of the run's time. */
const EVENTS_PER_ROUND_OF_GRAPHILE_WORKER = 1_000;

interface Setup {
  slots: number;
  destinations: number;
}

async function start(context: BenchContext, { slots, destinations: count }: Setup): Promise<Contestant[]> {
  const receiver = await startReceiver(context, "backend");
  const destinations = await makeDestinations(context, receiver, Array(count).fill("ok"));
  await makePeerTables(context, destinations);
  const systems = await Promise.all([
    startHeraldEvents(context, { slots }),
    startBullmqEvents(context, slots),
    startGraphileEvents(context, { slots, isBatching: false }),
    startGraphileEvents(context, { slots, isBatching: true }),
  ]);
  const countOf = ({ name }: EventSystem) =>
    context.count(name === "graphile-worker" ? EVENTS_PER_ROUND_OF_GRAPHILE_WORKER : EVENTS_PER_ROUND, 40);
  return systems.map((system) => {
    const makeItems = () => draftsFor(clientIdsOf(destinations), countOf(system));
    return backlogContestant(system, { receiver, makeItems });
  });
}

const variant = (setup: Setup): Variant => ({
  name: `${setup.slots}-slots-${setup.destinations}-destinations`,
  measures: [
    {
      value: "rate",
      unit: "events/s",
      better: "higher",
      targets: { bullmq: 1.3, "graphile-worker": 3 },
    },
  ],
  isInSmokeTest: setup.slots === 50 && setup.destinations === 20,
  start: (context) => start(context, setup),
});

/** Delivers a backlog to backends that answer immediately. */
export const DELIVERY: BenchCase = {
  name: "delivery",
  variants: [50, 200].flatMap((slots) =>
    [1, 20, 200].map((destinations) => variant({ slots, destinations })),
  ),
};
