import t from "tap";
import * as deadlines from "../../src/runtime/deadlines.ts";
import { SECOND } from "../../src/runtime/durations.ts";

const d = deadlines;

/** Each time must be smaller than the next; the text names the guarantee that depends on it. */
const ORDERS: [string, ...number[]][] = [
  [
    "a worker stops claiming before others consider it dead",
    d.HEARTBEAT_INTERVAL_MS,
    d.MAX_HEARTBEAT_GAP_MS,
    d.WORKER_DEAD_AFTER_MS,
  ],
  [
    "a short block of the event loop costs a worker its claims, a long one its process, before a shutdown times out",
    d.WATCHDOG_INTERVAL_MS,
    d.MAX_HEARTBEAT_GAP_MS,
    d.WATCHDOG_LIMIT_MS,
    d.PROCESS_CLOSE_TIMEOUT_MS,
  ],
  ["an hour is computed again after its rows stop changing", d.RECENT_ROW_MS, d.ROLL_UP_MARGIN_MS],
  ["a claimed row is started before its lease can expire", d.MAX_START_DELAY_MS, d.WORKER_DEAD_AFTER_MS],
  [
    "a live worker's lease outlasts the slowest delivery",
    d.MAX_START_DELAY_MS + d.DELIVERY_DEADLINE_MS,
    d.MAX_LEASE_MS,
  ],
  [
    "a live worker's lease outlasts the slowest send",
    d.MAX_START_DELAY_MS + d.SEND_DEADLINE_MS,
    d.MAX_LEASE_MS,
  ],
  [
    "a request that waits for the locks of a frozen process is answered after these have ended",
    d.IDLE_IN_TRANSACTION_LIMIT_MS,
    d.REQUEST_DATABASE_TIMEOUT_MS,
  ],
  [
    "Postgres ends the statement and the locks of a dead dispatcher's recovery of sends before others take it over",
    d.RECOVERY_STATEMENT_LIMIT_MS + d.IDLE_IN_TRANSACTION_LIMIT_MS,
    d.WORKER_DEAD_AFTER_MS,
  ],
  [
    "the lease of an operation outlasts the platform call, the read after it and the write of its outcome",
    2 * d.PLATFORM_CALL_DEADLINE_MS + d.REQUEST_DATABASE_TIMEOUT_MS,
    d.OPERATION_LEASE_MS,
  ],
  [
    "the lease of a signup step outlasts two platform calls and the write of their outcome",
    2 * d.PLATFORM_CALL_DEADLINE_MS + d.REQUEST_DATABASE_TIMEOUT_MS,
    d.SIGNUP_LEASE_MS,
  ],
  ["a probe's lease outlasts its delivery", d.DELIVERY_DEADLINE_MS, d.PROBE_LEASE_MS],
  [
    "a webhook waits less for the fields of its leads than a platform call may take",
    d.LEAD_FETCH_TIMEOUT_MS,
    d.PLATFORM_CALL_DEADLINE_MS,
  ],
  [
    "a request inserts its events before the stream forgets its transaction, and clocks may differ meanwhile",
    d.MAX_CLOCK_DIFFERENCE_MS + d.MAX_ID_WAIT_MS + d.REQUEST_DATABASE_TIMEOUT_MS,
    d.MAX_INSERT_DELAY_MS,
    d.MAX_TRANSACTION_AGE_MS,
  ],
  [
    "a person has more time to answer than to come back from the platform's dialog",
    d.SIGNUP_DIALOG_TTL_MS,
    d.SIGNUP_ANSWER_TTL_MS,
  ],
  [
    "a send with unknown outcome waits longer than a request may take",
    d.SEND_DEADLINE_MS,
    d.UNKNOWN_SEND_TIMEOUT_MS,
    d.SEND_TTL_MS,
  ],
  [
    "a request that waits for a test event sees an attempt that times out",
    d.DELIVERY_DEADLINE_MS,
    d.TEST_EVENT_WAIT_MS,
  ],
  [
    "the dispatcher's shutdown steps follow each other within the process's limit",
    Math.max(d.DELIVERY_DEADLINE_MS, d.SEND_DEADLINE_MS),
    d.ABORT_DELIVERIES_AFTER_MS,
    d.ABANDON_WRITES_AFTER_MS,
    d.DISPATCHER_CLOSE_TIMEOUT_MS,
    d.PROCESS_CLOSE_TIMEOUT_MS,
    25 * SECOND,
  ],
  [
    "the scheduler's shutdown steps follow each other within the process's limit",
    d.WORKER_DEAD_AFTER_MS,
    d.ABORT_JOBS_AFTER_MS,
    d.SCHEDULER_CLOSE_TIMEOUT_MS,
    d.PROCESS_CLOSE_TIMEOUT_MS,
  ],
];

t.test("deadlines that depend on each other are in ascending order", async (t) => {
  for (const [reason, ...times] of ORDERS)
    t.ok(
      times.every((time, index) => index === 0 || time > (times[index - 1] as number)),
      `${reason}: ${times.join(" < ")}`,
    );
});

t.test("a blocked process is ended no later than other workers take over its work", async (t) => {
  t.ok(d.WATCHDOG_LIMIT_MS <= d.WORKER_DEAD_AFTER_MS);
});

t.test("every deadline is compared with another one", async (t) => {
  const source = ORDERS.flatMap(([, ...times]) => times);
  for (const [name, time] of Object.entries(deadlines)) t.ok(source.includes(time), name);
});
