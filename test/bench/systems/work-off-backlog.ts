import { until } from "../../fixtures/until.ts";
import { monotonicMs } from "../clock.ts";
import type { Contestant, Sample } from "../frame/case.ts";
import { startCpuCount } from "../frame/cpu.ts";
import type { ArrivalTimes } from "../programs/arrivals.ts";
import type { Receiver } from "../programs/receiver.ts";
import type { BacklogSystem } from "./backlog-system.ts";

interface BacklogParts<Item> {
  receiver: Receiver;
  /** The items of a round. */
  makeItems(): readonly Item[];
}

/**
 * A contestant that works off a backlog. Measures `rate`: items per second from the moment at which all of them are
 * recorded and enqueued until all have arrived at the receiver and their state is written.
 */
export const backlogContestant = <Item>(
  system: BacklogSystem<Item>,
  parts: BacklogParts<Item>,
): Contestant => {
  if (system.polls) system.suspend();
  return {
    name: system.name,
    async run() {
      const { sample } = await workOffBacklog(system, parts);
      if (system.polls) system.suspend();
      return sample;
    },
  };
};

/** Throws unless each item arrived exactly once and has one attempt. */
export async function workOffBacklog<Item>(
  system: BacklogSystem<Item>,
  { receiver, makeItems }: BacklogParts<Item>,
): Promise<{ sample: Sample; arrivals: ArrivalTimes }> {
  const items = makeItems();
  await receiver.reset();
  const firstId = await enqueueSuspended(system, items);
  const arrived = receiver.waitFor(items.length);
  const cpuPerItem = startCpuCount({ ...system.processes, receiver: receiver.pid });
  const startedAt = monotonicMs();
  system.resume();
  await arrived;
  const { attempts } = await untilWritten(system, firstId, items.length);
  const seconds = (monotonicMs() - startedAt) / 1_000;
  const cpu = cpuPerItem(items.length);
  const arrivals = await receiver.arrivals();
  verifyArrivals(arrivals, { count: items.length, recordsItems: receiver.recordsItems });
  if (attempts !== items.length)
    throw new Error(`${system.name} wrote ${attempts} attempts for ${items.length} items`);
  return { sample: { values: { rate: items.length / seconds }, cpu }, arrivals };
}

function verifyArrivals(arrivals: ArrivalTimes, expected: { count: number; recordsItems: boolean }): void {
  const requests = arrivals.reduce((sum, [, times]) => sum + times.length, 0);
  const items = expected.recordsItems ? arrivals.length : requests;
  if (requests !== expected.count || items !== expected.count)
    throw new Error(`${requests} requests with ${items} of ${expected.count} items have arrived`);
}

/** Returns the first id. A suspended process could not be stopped after an error. */
async function enqueueSuspended<Item>(system: BacklogSystem<Item>, items: readonly Item[]): Promise<string> {
  system.suspend();
  try {
    return (await system.enqueue(items)).sort()[0] as string;
  } catch (error) {
    system.resume();
    throw error;
  }
}

const untilWritten = <Item>(system: BacklogSystem<Item>, firstId: string, count: number) =>
  until(`${system.name} has written the outcome of ${count} items`, async () => {
    const written = await system.countWritten(firstId);
    return written.done >= count ? written : undefined;
  });
