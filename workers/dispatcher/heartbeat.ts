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
  let closed = false;
  const complain = (error: unknown) => log.warn("heartbeat.failed", { worker: id, err: error });

  /** The next beat is set when this one has ended: against a database that hangs they would pile up. */
  const pulse = (): Promise<void> => {
    beating = beat(db, id, "dispatcher")
      .catch(complain)
      .then(() => {
        if (!closed) timer = setTimeout(pulse, EVERY);
      });
    return beating;
  };

  return {
    name: "heartbeat",
    start: pulse,
    async close() {
      closed = true;
      clearTimeout(timer);
      await beating;
      await removeWorker(db, id).catch(complain);
    },
  };
}
