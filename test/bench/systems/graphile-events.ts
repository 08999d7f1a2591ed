import { makeWorkerUtils } from "graphile-worker";
import type { BenchContext } from "../frame/context.ts";
import { DELIVERY_QUEUE } from "../peers/delivery-tables.ts";
import { startPeerEvents } from "./peer-events.ts";

/** Starts graphile-worker with undici as a peer that delivers events; its queue is in Postgres. */
export async function startGraphileEvents(context: BenchContext, slots: number) {
  const utils = await makeWorkerUtils({ connectionString: context.settings.DATABASE_URL as string });
  context.teardown(() => utils.release());
  await utils.migrate();
  return startPeerEvents(context, {
    slots,
    name: "graphile-worker",
    program: "peers/graphile-deliveries",
    addJobs: (jobs) =>
      utils.addJobs(jobs.map((payload) => ({ identifier: DELIVERY_QUEUE, payload, maxAttempts: 8 }))),
  });
}
