import { SECOND } from "../../src/runtime/durations.ts";
import type { Log } from "../../src/runtime/log.ts";
import type { Worker } from "../../src/runtime/supervise.ts";
import type { Database } from "../../src/store/database.ts";
import { beat, removeWorker } from "../../src/store/workers.ts";

const EVERY = 2 * SECOND;

interface HeartbeatParts {
  id: string;
  db: Database;
  log: Log;
}

/** Renews this dispatcher's row in `workers`. A failed beat is only logged: the next one mends it, or others take over. */
export function heartbeat({ id, db, log }: HeartbeatParts): Worker {
  let timer: NodeJS.Timeout | undefined;
  let beating: Promise<void> = Promise.resolve();
  const pulse = () => {
    beating = beat(db, id, "dispatcher").catch((error: unknown) =>
      log.warn("heartbeat.failed", { worker: id, err: error }),
    );
    return beating;
  };
  return {
    name: "heartbeat",
    async start() {
      await pulse();
      timer = setInterval(pulse, EVERY);
    },
    async close() {
      clearInterval(timer);
      await beating;
      await removeWorker(db, id).catch((error: unknown) =>
        log.warn("heartbeat.failed", { worker: id, err: error }),
      );
    },
  };
}
