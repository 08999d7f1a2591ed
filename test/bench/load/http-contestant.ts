import type { Contestant } from "../frame/case.ts";
import { type ProcessIds, startCpuCount } from "../frame/cpu.ts";
import { sendClosedLoop } from "./closed-loop.ts";
import type { Target } from "./connection.ts";

interface HttpContestant {
  name: string;
  target: Target;
  callers: number;
  processes: ProcessIds;
  /** Builds the requests of a round; no two requests of a run are equal. */
  makeRequests(): readonly Buffer[];
  itemsPerRequest: number;
  /** Counts the items that are stored. */
  countItems(): Promise<number>;
}

/** A contestant that stores items which callers send to it. Measures `rate`, `p50` and `p99`. */
export const httpContestant = (options: HttpContestant): Contestant => ({
  name: options.name,
  async run() {
    const { target, callers, processes, itemsPerRequest, countItems } = options;
    const requests = options.makeRequests();
    const items = requests.length * itemsPerRequest;
    const countBefore = await countItems();
    const cpuPerItem = startCpuCount(processes);
    const { seconds, p50, p99 } = await sendClosedLoop(target, callers, requests);
    const cpu = cpuPerItem(items);
    const stored = (await countItems()) - countBefore;
    if (stored !== items) throw new Error(`${options.name} stored ${stored} of ${items} items`);
    return { values: { rate: items / seconds, p50, p99 }, cpu };
  },
});
