import t from "tap";
import * as deadlines from "../../src/runtime/deadlines.ts";
import { SECOND } from "../../src/runtime/durations.ts";

const d = deadlines;

/** Each time is smaller than the next; the text says what breaks otherwise. */
const ORDERS: [string, ...number[]][] = [
  [
    "a worker stops claiming before others take it for dead",
    d.HEARTBEAT_INTERVAL_MS,
    d.MAX_HEARTBEAT_GAP_MS,
    d.WORKER_DEAD_AFTER_MS,
  ],
  ["a claimed row is started before its lease can expire", d.MAX_START_DELAY_MS, d.WORKER_DEAD_AFTER_MS],
  [
    "a living worker's lease outlasts the slowest delivery",
    d.MAX_START_DELAY_MS + d.LEAD_FETCH_TIMEOUT_MS + d.DELIVERY_DEADLINE_MS,
    d.MAX_LEASE_MS,
  ],
  [
    "a living worker's lease outlasts the slowest send",
    d.MAX_START_DELAY_MS + d.SEND_DEADLINE_MS,
    d.MAX_LEASE_MS,
  ],
  [
    "a probe's lease outlasts its delivery",
    d.LEAD_FETCH_TIMEOUT_MS + d.DELIVERY_DEADLINE_MS,
    d.PROBE_LEASE_MS,
  ],
  [
    "a dead dispatcher's rows are due before its stream entries are reclaimed",
    d.WORKER_DEAD_AFTER_MS,
    Math.min(d.RECLAIM_IDLE_MS, d.STRANDED_AFTER_MS),
  ],
  [
    "an entry is not reclaimed while its delivery can still be open",
    d.DELIVERY_DEADLINE_MS,
    d.RECLAIM_IDLE_MS,
  ],
  [
    "an unknown send waits longer than a request may take",
    d.SEND_DEADLINE_MS,
    d.UNKNOWN_SEND_TIMEOUT_MS,
    d.SEND_TTL_MS,
  ],
  [
    "a send that is claimed early is still one of this minute",
    d.SEND_CLAIM_AHEAD_MS,
    d.MAX_BLOCKING_RETRY_MS,
  ],
  ["a waiting send is looked at before it expires", d.RECONNECT_CHECK_MS, d.SEND_TTL_MS],
  [
    "the dispatcher shuts down step by step, within the process's time",
    Math.max(d.DELIVERY_DEADLINE_MS, d.SEND_DEADLINE_MS),
    d.ABORT_DELIVERIES_AFTER_MS,
    d.ABANDON_WRITES_AFTER_MS,
    d.DISPATCHER_CLOSE_TIMEOUT_MS,
    d.PROCESS_CLOSE_TIMEOUT_MS,
    25 * SECOND,
  ],
  [
    "the scheduler shuts down step by step, within the process's time",
    d.WORKER_DEAD_AFTER_MS,
    d.ABORT_JOBS_AFTER_MS,
    d.SCHEDULER_CLOSE_TIMEOUT_MS,
    d.PROCESS_CLOSE_TIMEOUT_MS,
  ],
];

t.test("times that depend on each other are in order", async (t) => {
  for (const [reason, ...times] of ORDERS)
    t.ok(
      times.every((time, index) => index === 0 || time > (times[index - 1] as number)),
      `${reason}: ${times.join(" < ")}`,
    );
});

t.test("every time takes part in an order", async (t) => {
  const source = ORDERS.flatMap(([, ...times]) => times);
  const derived = new Set(["LEAD_FETCH_TIMEOUT_MS", "STRANDED_AFTER_MS"]); // only in sums and minima above
  for (const [name, time] of Object.entries(deadlines))
    t.ok(derived.has(name) || source.includes(time), name);
});
