import { makeChannel } from "../../../fixtures/tenants/channels.ts";
import type { BenchCase, Contestant, Measure, Sample } from "../../frame/case.ts";
import type { BenchContext } from "../../frame/context.ts";
import { startWeb } from "../../frame/processes.ts";
import { type Receiver, startReceiver } from "../../programs/receiver.ts";
import { clientIdsOf, makeDestinations } from "../../systems/destinations.ts";
import { draftsFor } from "../../systems/drafts.ts";
import { discardWaiting, startHeraldEvents } from "../../systems/herald-events.ts";
import { openContextBeside } from "../../systems/second-context.ts";
import { type StoredRows, storeRows } from "../../systems/stored-rows.ts";
import { backlogContestant } from "../../systems/work-off-backlog.ts";
import { startHeraldIntake } from "../intake.ts";
import { heraldContestant as startHeraldEndpoint } from "../webhook-endpoint/contestants.ts";
import { startReads } from "./reads.ts";

const [SLOTS, CLIENTS, EVENTS_PER_ROUND] = [200, 20, 5_000];
const [INTAKE_CALLERS, ENDPOINT_LOAD] = [64, { updates: 10, callers: 64, bodies: 1_000 }];
/** The rows of the grown database, with 33 partitions of events. */
const GROWN_ROWS = { events: 2_000_000, messages: 1_000_000, days: 30 };
/** The other database has only what fills the list pages, in today's partitions. */
const FEW_ROWS = { events: 2_000, messages: 2_000, days: 1 };

interface Setup extends Omit<StoredRows, "owners"> {
  name: string;
}

async function startContestant(
  context: BenchContext,
  receiver: Receiver,
  { name, ...rows }: Setup,
): Promise<Contestant> {
  const destinations = await makeDestinations(
    context,
    receiver,
    Array(context.isSmokeTest ? 2 : CLIENTS).fill("ok"),
  );
  const clientIds = clientIdsOf(destinations);
  const owners = await Promise.all(
    clientIds.map(async (clientId) => ({
      clientId,
      channelId: await makeChannel(context, { id: clientId }),
    })),
  );
  await storeRows(context, { ...rows, owners });
  const system = await startHeraldEvents(context, { slots: SLOTS, name });
  const makeItems = () => draftsFor(clientIds, context.count(EVENTS_PER_ROUND, 40));
  const web = await startWeb(context);
  const intake = await startHeraldIntake(context, INTAKE_CALLERS, web);
  const endpoint = await startHeraldEndpoint(context, ENDPOINT_LOAD, web);
  const reads = await startReads(context, web.origin, clientIds[0] as string);
  context.teardown(system.resume); // a suspended process does not obey SIGTERM
  const delivery = backlogContestant(system, { receiver, makeItems });
  return {
    name,
    async run() {
      const delivered = await delivery.run();
      // Otherwise the dispatcher would work on what intake and webhook endpoint accept.
      system.suspend();
      const sample = joinSamples({
        delivery: delivered,
        intake: await intake.run(),
        "webhook-endpoint": await endpoint.run(),
      });
      await discardWaiting(context);
      return withReads(sample, reads);
    },
  };
}

/** Gives the rates and the processor times the names of their samples. */
function joinSamples(samples: Readonly<Record<string, Sample>>): Sample {
  const named = Object.entries(samples);
  const times = named.flatMap(([name, { cpu }]) =>
    Object.entries(cpu).map(([process, us]) => [`${name} ${process}`, us] as const),
  );
  return {
    values: Object.fromEntries(named.map(([name, { values }]) => [name, values.rate as number])),
    cpu: Object.fromEntries(times),
  };
}

async function withReads(
  { values, cpu }: Sample,
  reads: Awaited<ReturnType<typeof startReads>>,
): Promise<Sample> {
  const [events, messages, retry] = [
    await reads.eventsPage(),
    await reads.messagesPage(),
    await reads.dryRun(),
  ];
  return { values: { ...values, events, messages, retry }, cpu };
}

const rate = (value: string, unit: string): Measure => ({
  value,
  suffix: value,
  unit,
  better: "higher",
  targets: { empty: 0.9 },
  cpu: `${value} `,
});

/** At most 1.5 times the time with few rows. */
const page = (value: string): Measure => ({
  value,
  suffix: `${value}-page`,
  unit: "ms",
  better: "lower",
  targets: { empty: 0.67 },
  cpu: value,
});

/** Delivery, intake, webhook endpoint and reads with 2,000,000 events and 1,000,000 messages of 30 days, beside few of them. */
export const GROWTH: BenchCase = {
  name: "growth",
  variants: [
    {
      name: "2m",
      measures: [
        rate("delivery", "events/s"),
        rate("intake", "messages/s"),
        rate("webhook-endpoint", "updates/s"),
        page("events"),
        page("messages"),
        {
          value: "retry",
          suffix: "retry-dry-run",
          unit: "ms",
          better: "lower",
          peers: [],
          limit: 300,
          cpu: "retry",
        },
      ],
      isInSmokeTest: true,
      async start(context) {
        const receiver = await startReceiver(context, "backend");
        const beside = await openContextBeside(context);
        const grown = {
          ...(context.isSmokeTest ? FEW_ROWS : GROWN_ROWS),
          events: context.count(GROWN_ROWS.events, FEW_ROWS.events),
          messages: context.count(GROWN_ROWS.messages, FEW_ROWS.messages),
        };
        return Promise.all([
          startContestant(context, receiver, { name: "herald", ...grown }),
          startContestant(beside, receiver, { name: "empty", ...FEW_ROWS }),
        ]);
      },
    },
  ],
};
