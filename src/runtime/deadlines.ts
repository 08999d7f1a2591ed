import { DAY, MINUTE, SECOND } from "./durations.ts";

/** Times that depend on each other, in milliseconds. test/runtime/deadlines.test.ts asserts their order. */

// Workers: a heartbeat says that a worker is alive, so that its leased rows are left to it.
export const HEARTBEAT_INTERVAL_MS = 2 * SECOND;
/** A worker whose own heartbeats have a longer gap claims nothing: others may already take it for dead. */
export const MAX_HEARTBEAT_GAP_MS = 3 * HEARTBEAT_INTERVAL_MS;
/** A worker without a heartbeat for this long is dead: its leases have expired. */
export const WORKER_DEAD_AFTER_MS = 10 * SECOND;
/** A lease expires after this time even if its worker is alive. */
export const MAX_LEASE_MS = 1 * MINUTE;

// Queue: the time from the claim of a row to its first request, and what counts as lost in Redis.
/** A row that was claimed longer ago is released instead of started: its lease may be taken over. */
export const MAX_START_DELAY_MS = 5 * SECOND;
/** A stream entry that was read this long ago and not removed belongs to a dead dispatcher. */
export const RECLAIM_IDLE_MS = 20 * SECOND;
/** A row that was added to a stream this long ago and not claimed is added again. */
export const STRANDED_AFTER_MS = 20 * SECOND;

// Calls.
/** A delivery to a client's backend, from the connection to the end of the answer. */
export const DELIVERY_DEADLINE_MS = 15 * SECOND;
/** One request that sends a message. */
export const SEND_DEADLINE_MS = 15 * SECOND;
/** The fields of a lead, which are fetched before its event is delivered. */
export const LEAD_FETCH_TIMEOUT_MS = 10 * SECOND;
/** The probe of a half-open breaker: longer than a delivery with its lead fields. */
export const PROBE_LEASE_MS = 30 * SECOND;

// Messages.
/** A message that could not be sent within this time fails. */
export const SEND_TTL_MS = 1 * DAY;
/** A dispatcher claims a send this long before it is due, as its slot may come a moment early. */
export const SEND_CLAIM_AHEAD_MS = 1 * SECOND;
/** A send that is retried later than this no longer holds up later messages to the same person. */
export const MAX_BLOCKING_RETRY_MS = 1 * MINUTE;
/** How often a send whose channel needs a new token is looked at; the reconnect itself makes it due. */
export const RECONNECT_CHECK_MS = 30 * MINUTE;
/** The default of SEND_UNKNOWN_SECONDS: how long an unknown send waits for a status webhook before it fails. */
export const UNKNOWN_SEND_TIMEOUT_MS = 10 * MINUTE;

// Shutdown, counted from the signal. The process manager kills after 30 s; an orderly exit takes 25 s at most.
/** The dispatcher aborts the deliveries that are still open; they do not count as attempts. */
export const ABORT_DELIVERIES_AFTER_MS = 18 * SECOND;
/** The dispatcher stops waiting for the database to record outcomes. */
export const ABANDON_WRITES_AFTER_MS = 18.5 * SECOND;
/** The dispatcher stops waiting for anything. */
export const DISPATCHER_CLOSE_TIMEOUT_MS = 19.5 * SECOND;
/** The scheduler asks its jobs to stop: later than a dead worker is noticed, so that the run is free at once. */
export const ABORT_JOBS_AFTER_MS = WORKER_DEAD_AFTER_MS + 5 * SECOND;
export const SCHEDULER_CLOSE_TIMEOUT_MS = WORKER_DEAD_AFTER_MS + 8 * SECOND;
/** All workers of a process together. */
export const PROCESS_CLOSE_TIMEOUT_MS = 24 * SECOND;
