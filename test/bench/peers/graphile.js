/**
 * The work of a dispatcher with graphile-worker, a queue in Postgres. As a separate process it is the worker that delivers
 * events; the process of the benchmark imports it to add jobs.
 */
import { fileURLToPath } from "node:url";
import { Logger, makeWorkerUtils, run } from "graphile-worker";
import pg from "pg";
import { createDelivery } from "./deliver-event.js";

const TASK = "deliver";
const NO_LOG = new Logger(() => () => {});

export async function openJobs({ DATABASE_URL }) {
  const utils = await makeWorkerUtils({ connectionString: DATABASE_URL, logger: NO_LOG });
  const pool = new pg.Pool({ connectionString: DATABASE_URL, max: 1 });
  return {
    add: (jobs) => utils.addJobs(jobs.map((payload) => ({ identifier: TASK, payload, maxAttempts: 8 }))),
    async isIdle() {
      const { rows } = await pool.query(
        "select not exists (select from graphile_worker._private_jobs) as idle",
      );
      return rows[0].idle;
    },
    discard: () => pool.query("delete from graphile_worker._private_jobs where locked_at is null"),
    async close() {
      await utils.release();
      await pool.end();
    },
  };
}

async function startWorker() {
  const { DATABASE_URL, SLOTS } = process.env;
  const slots = Number(SLOTS);
  const deliver = await createDelivery(slots);
  await run({
    connectionString: DATABASE_URL,
    noHandleSignals: true,
    logger: NO_LOG,
    taskList: { [TASK]: (payload, { job }) => deliver(payload, job.attempts) },
    preset: {
      worker: {
        concurrentJobs: slots,
        maxPoolSize: 10, // beside those of the history; with fewer in all it takes more processor time
        // Its settings for a high rate: it fetches jobs ahead in one statement, and completes many in one.
        localQueue: { size: 2 * slots },
        completeJobBatchDelay: 0,
        failJobBatchDelay: 0,
      },
    },
  });
  process.stdout.write("0\n"); // ready; it has no port
}

if (process.argv[1] === fileURLToPath(import.meta.url)) await startWorker();
