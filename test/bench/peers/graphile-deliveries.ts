/** A peer of the dispatcher: a graphile-worker that delivers events. Runs as a separate process. */
import { Logger, run } from "graphile-worker";
import { createDelivery } from "./deliver-event.ts";
import { DELIVERY_QUEUE, type DeliveryJob } from "./delivery-tables.ts";

const { DATABASE_URL = "", SLOTS = "", GRAPHILE_SCHEMA = "", IS_BATCHING = "" } = process.env;
const slots = Number(SLOTS);
const deliver = createDelivery(DATABASE_URL, slots);
/** Its settings for a high rate: it fetches jobs ahead in one statement, and completes many in one. */
const BATCHING = { localQueue: { size: 2 * slots }, completeJobBatchDelay: 0, failJobBatchDelay: 0 };
await run({
  connectionString: DATABASE_URL,
  noHandleSignals: true,
  logger: new Logger(() => () => {}),
  taskList: {
    [DELIVERY_QUEUE]: (payload, { job }) => deliver(payload as DeliveryJob, job.attempts),
  },
  preset: {
    worker: {
      schema: GRAPHILE_SCHEMA,
      concurrentJobs: slots,
      maxPoolSize: 10,
      ...(IS_BATCHING === "true" ? BATCHING : {}),
    },
  },
});
process.stdout.write("0\n"); // ready; it has no port
