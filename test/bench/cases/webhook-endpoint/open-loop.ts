import type { Contestant } from "../../frame/case.ts";
import type { BenchContext } from "../../frame/context.ts";
import { rowCounter } from "../../frame/count-rows.ts";
import { startCpuCount } from "../../frame/cpu.ts";
import { sendClosedLoop } from "../../load/closed-loop.ts";
import { sendOpenLoop } from "../../load/open-loop.ts";
import { type EndpointLoad, makeWebhooks, startHeraldEndpoint } from "./contestants.ts";

/** The part of the capacity at which the acknowledgements are timed. */
const LOAD_SHARE = 0.5;

/**
 * Measures the capacity in each round and then sends webhooks at half of it, at times that do not depend on the answers:
 * a slow answer does not delay the next webhook, as with the platform.
 */
export async function openLoopContestant(context: BenchContext, load: EndpointLoad): Promise<Contestant> {
  const { numbers, target, processes } = await startHeraldEndpoint(context);
  const countItems = rowCounter(context, "events");
  return {
    name: "herald",
    async run() {
      const [first, second] = [makeWebhooks(context, numbers, load), makeWebhooks(context, numbers, load)];
      const countBefore = await countItems();
      const { seconds } = await sendClosedLoop(target, load.callers, first);
      const rate = (first.length / seconds) * LOAD_SHARE;
      const cpuPerItem = startCpuCount(processes);
      const { p50, p99 } = await sendOpenLoop(target, rate, second);
      const items = second.length * load.updates;
      const cpu = cpuPerItem(items);
      const stored = (await countItems()) - countBefore;
      if (stored !== 2 * items) throw new Error(`herald stored ${stored} of ${2 * items} updates`);
      return { values: { p50, p99, rate: rate * load.updates }, cpu };
    },
  };
}
