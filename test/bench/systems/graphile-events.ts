import { makeWorkerUtils } from "graphile-worker";
import type { BenchContext } from "../frame/context.ts";
import { DELIVERY_QUEUE } from "../peers/delivery-tables.ts";
import { startPeerEvents } from "./peer-events.ts";

interface GraphileOptions {
  slots: number;
  /** True for its settings for high rates; otherwise it has its default settings. */
  isBatching: boolean;
}

/** Starts graphile-worker with undici as a peer that delivers events; its queue is in Postgres. */
export async function startGraphileEvents(context: BenchContext, { slots, isBatching }: GraphileOptions) {
  const name = isBatching ? "graphile-batching" : "graphile-worker";
  const schema = name.replace("-", "_");
  const utils = await makeWorkerUtils({ connectionString: context.settings.DATABASE_URL as string, schema });
  context.teardown(() => utils.release());
  await utils.migrate();
  return startPeerEvents(context, {
    slots,
    name,
    polls: true,
    program: "peers/graphile-deliveries",
    settings: { GRAPHILE_SCHEMA: schema, IS_BATCHING: String(isBatching) },
    addJobs: (jobs) =>
      utils.addJobs(jobs.map((payload) => ({ identifier: DELIVERY_QUEUE, payload, maxAttempts: 8 }))),
  });
}
