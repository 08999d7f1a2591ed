/** A peer of the dispatcher: a graphile-worker that delivers events. Runs as a separate process. */
import { Logger, run } from "graphile-worker";
import { createDelivery } from "./deliver-event.ts";
import { DELIVERY_QUEUE, type DeliveryJob } from "./delivery-tables.ts";

const { DATABASE_URL = "", SLOTS = "" } = process.env;
const slots = Number(SLOTS);
const deliver = createDelivery(DATABASE_URL, slots);
await run({
  connectionString: DATABASE_URL,
  noHandleSignals: true,
  logger: new Logger(() => () => {}),
  taskList: {
    [DELIVERY_QUEUE]: (payload, { job }) => deliver(payload as DeliveryJob, job.attempts),
  },
  // Its settings for a high rate: fetches jobs ahead in one statement, and completes many in one.
  preset: {
    worker: {
      concurrentJobs: slots,
      maxPoolSize: 10,
      localQueue: { size: 2 * slots },
      completeJobBatchDelay: 0,
      failJobBatchDelay: 0,
    },
  },
});
process.stdout.write("0\n"); // ready; it has no port
