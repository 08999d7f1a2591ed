import type { BenchCase, Contestant } from "../frame/case.ts";
import type { BenchContext } from "../frame/context.ts";
import { type Receiver, startReceiver } from "../programs/receiver.ts";
import { clientIdsOf, makeDestinations } from "../systems/destinations.ts";
import { draftsFor } from "../systems/drafts.ts";
import { startHeraldEvents } from "../systems/herald-events.ts";
import { openContextBeside } from "../systems/second-context.ts";
import { backlogContestant } from "../systems/work-off-backlog.ts";

/** 30 calls of 100 ms are 300 events per second: slots limit one dispatcher, and the processor does not limit two. */
const [SLOTS, DESTINATIONS, EVENTS_PER_ROUND] = [30, 60, 3_000];

async function startContestant(
  context: BenchContext,
  receiver: Receiver,
  { dispatchers, name }: { dispatchers: number; name: string },
): Promise<Contestant> {
  const destinations = await makeDestinations(context, receiver, Array(DESTINATIONS).fill("slow"));
  const system = await startHeraldEvents(context, { slots: SLOTS, dispatchers, name });
  const makeItems = () => draftsFor(clientIdsOf(destinations), context.count(EVENTS_PER_ROUND, 40));
  return backlogContestant(system, { receiver, makeItems });
}

/** Two dispatchers beside one, with a backend that answers after 100 ms. */
export const TWO_DISPATCHERS: BenchCase = {
  name: "two-dispatchers",
  variants: [
    {
      name: "100-ms",
      measures: [{ value: "rate", unit: "events/s", better: "higher", targets: { "one-dispatcher": 1.9 } }],
      isInSmokeTest: true,
      async start(context) {
        const receiver = await startReceiver(context, "backend");
        const beside = await openContextBeside(context);
        return Promise.all([
          startContestant(context, receiver, { dispatchers: 2, name: "herald" }),
          startContestant(beside, receiver, { dispatchers: 1, name: "one-dispatcher" }),
        ]);
      },
    },
  ],
};
