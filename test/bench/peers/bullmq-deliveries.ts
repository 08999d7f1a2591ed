/** A peer of the dispatcher: a BullMQ worker that delivers events. Runs as a separate process. */
import { Worker } from "bullmq";
import { createDelivery } from "./deliver-event.ts";
import { DELIVERY_QUEUE, type DeliveryJob } from "./delivery-tables.ts";

const { DATABASE_URL = "", REDIS_URL = "", SLOTS = "" } = process.env;
const deliver = createDelivery(DATABASE_URL, Number(SLOTS));
const worker = new Worker<DeliveryJob>(DELIVERY_QUEUE, (job) => deliver(job.data, job.attemptsMade + 1), {
  connection: { url: REDIS_URL, maxRetriesPerRequest: null },
  concurrency: Number(SLOTS),
});
worker.on("error", (error) => {
  throw error;
});
await worker.waitUntilReady();
process.stdout.write("0\n"); // ready; it has no port
