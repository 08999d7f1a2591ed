import type { Test } from "tap";
import { until } from "../../fixtures/until.ts";
import { createDeployment, type Deployment, type Size } from "./deployment.ts";
import {
  type AddedMessages,
  createPopulation,
  type Load,
  type LoadResult,
  type Population,
  startLoad,
} from "./load.ts";

/** The rate of each channel. */
export const RATE_PER_SECOND = 20;

interface LoadOptions {
  /** Further settings of the processes. */
  settings: Record<string, string>;
  size: Size;
  clients: number;
  channels: number;
  /** Received messages per second. */
  perSecond: number;
  /** Messages that each channel has to send. */
  backlog: number;
  /** True for the clients whose pauses and latencies are measured. All of them, if it is missing. */
  isMeasured?(clientId: string): boolean;
}

export interface LoadedDeployment {
  population: Population;
  deployment: Deployment;
  load: Load;
  /**
   * Waits until so many messages are received and everything is delivered and sent. Checks that nothing is lost or doubled, and
   * the rates of the channels.
   */
  finish(received: number, added?: AddedMessages): Promise<Omit<LoadResult, "rateExcess">>;
}

/** Starts processes of Herald that deliver and send. */
export async function startLoadedDeployment(
  t: Test,
  { clients, channels, size, ...options }: LoadOptions,
): Promise<LoadedDeployment> {
  const settings = {
    DISPATCHER_CONCURRENCY: "50",
    CHANNEL_RATE_PER_SECOND: String(RATE_PER_SECOND),
    ...options.settings,
  };
  const population = await createPopulation(t, { clients, channels, settings });
  const deployment = createDeployment(t, population.settings);
  await deployment.grow(size);
  const nextAddress = () => deployment.addresses()[0] as string;
  const load = await startLoad(population, { isMeasured: () => true, ...options, nextAddress });
  return {
    population,
    deployment,
    load,
    async finish(received, added) {
      await until("the messages are received", () => load.acknowledged.length >= received);
      const { rateExcess, ...result } = await load.finish(added);
      t.equal(result.lost, 0, "nothing is lost");
      t.equal(result.doubled, 0, "nothing is delivered or sent twice");
      // Requests start up to half a second late on a loaded machine.
      t.ok(rateExcess <= RATE_PER_SECOND / 2, `${rateExcess.toFixed(1)} messages more than the rate allows`);
      return result;
    },
  };
}
