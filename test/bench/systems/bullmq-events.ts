import { Queue } from "bullmq";
import { until } from "../../fixtures/until.ts";
import type { BenchContext } from "../frame/context.ts";
import { DELIVERY_QUEUE, type DeliveryJob } from "../peers/delivery-tables.ts";
import { startPeerEvents } from "./peer-events.ts";

/** Eight attempts with exponential delays; completed jobs leave Redis, because the history is in Postgres. */
const JOB_OPTIONS = {
  attempts: 8,
  backoff: { type: "exponential", delay: 5_000 },
  removeOnComplete: true,
} as const;

/** Starts BullMQ with undici as a peer that delivers events. */
export async function startBullmqEvents(context: BenchContext, slots: number) {
  const connection = { url: context.settings.REDIS_URL as string };
  const queue = new Queue<DeliveryJob>(DELIVERY_QUEUE, { connection, defaultJobOptions: JOB_OPTIONS });
  context.teardown(() => queue.close());
  return startPeerEvents(context, {
    slots,
    name: "bullmq",
    program: "peers/bullmq-deliveries",
    addJobs: (jobs) => queue.addBulk(jobs.map((data) => ({ name: "deliver", data }))),
    clear: (endCalls) => drain(queue, endCalls),
  });
}

/** A job that was active may be delayed afterwards, for its next attempt. */
async function drain(queue: Queue<DeliveryJob>, endCalls: () => Promise<void>): Promise<void> {
  const isIdle = async () => {
    await queue.drain(true);
    await endCalls();
    return (await queue.getActiveCount()) === 0;
  };
  await until("no job is active", isIdle);
}
