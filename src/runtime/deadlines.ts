import { DAY, MINUTE, SECOND } from "./durations.ts";

/** Times that depend on each other, in milliseconds. test/runtime/deadlines.test.ts asserts their order. */

// Workers: heartbeats keep the leases of a worker valid.
export const HEARTBEAT_INTERVAL_MS = 2 * SECOND;
/** A worker claims nothing while its last heartbeat is older: other workers may already consider it dead. */
export const MAX_HEARTBEAT_GAP_MS = 3 * HEARTBEAT_INTERVAL_MS;
/** A worker without a heartbeat for this long is dead: its leases have expired. */
export const WORKER_DEAD_AFTER_MS = 10 * SECOND;
/** A lease expires after this time even if its worker is alive. */
export const MAX_LEASE_MS = 1 * MINUTE;

// Watchdog: ends a process whose event loop is blocked.
/** The event loop increases a counter at this interval, and the watchdog thread compares it. */
export const WATCHDOG_INTERVAL_MS = 1 * SECOND;
/**
 * A process blocked for this long is ended. Earlier, a worker that recovers could still finish its work; later, it would
 * block while another worker already repeats that work.
 */
export const WATCHDOG_LIMIT_MS = WORKER_DEAD_AFTER_MS;

// Queue: the time from the claim of a row to its first request.
/** A row that was claimed longer ago is released instead of started: another dispatcher may have reclaimed it. */
export const MAX_START_DELAY_MS = 5 * SECOND;

// Calls.
/** A delivery to a client's backend, from name resolution to the end of the response. */
export const DELIVERY_DEADLINE_MS = 15 * SECOND;
/** A request waits this long for the first attempt of its test event: longer than the attempt may take. */
export const TEST_EVENT_WAIT_MS = 16 * SECOND;
/** One request that sends a message. */
export const SEND_DEADLINE_MS = 15 * SECOND;
/** A webhook waits this long for the fields of its leads. Then it is recorded without them. */
export const LEAD_FETCH_TIMEOUT_MS = 5 * SECOND;
/** The probe of a half-open circuit breaker: longer than the delivery. */
export const PROBE_LEASE_MS = 30 * SECOND;

// Transactions. Postgres enforces these limits, so that they also hold for a process that freezes or whose machine is lost.
/** A transaction that waits this long for its process is rolled back: callers that wait for its locks still get their answer. */
export const IDLE_IN_TRANSACTION_LIMIT_MS = 3 * SECOND;
/** The longest statement of the recovery of sends and of the supervision of batches. The rows of each are bounded. */
export const RECOVERY_STATEMENT_LIMIT_MS = 5 * SECOND;
/** Postgres ends a statement this much later than its process gives up the wait for it. */
export const STATEMENT_LIMIT_MARGIN_MS = 1 * SECOND;

// Requests.
/** A request waits this long for Postgres. Callers repeat it after 503, or after 504 with the same Idempotency-Key. */
export const REQUEST_DATABASE_TIMEOUT_MS = 5 * SECOND;

/** A platform call on behalf of an API request, retries included. The read after a write has its own. */
export const PLATFORM_CALL_DEADLINE_MS = 20 * SECOND;
/** A repeated request waits this long for the reply to the first request with its Idempotency-Key. */
export const FIRST_REPLY_TIMEOUT_MS = 2 * SECOND;
/** The lease of an operation with an Idempotency-Key: longer than the platform call and the read after it. */
export const OPERATION_LEASE_MS = 1 * MINUTE;

/** A person connects ad accounts within this time; the state in the link is signed with a key of ENCRYPTION_KEYS. */
export const OAUTH_STATE_TTL_MS = 10 * MINUTE;

// Embedded signup.
/** A platform's dialog must lead back within this time: its state is valid for as long. */
export const SIGNUP_DIALOG_TTL_MS = 10 * MINUTE;
/** The lease of a request that runs the steps of a signup, renewed before each step. */
export const SIGNUP_LEASE_MS = 1 * MINUTE;
/** How long Herald keeps a grant while the person chooses an asset or enters a PIN. */
export const SIGNUP_ANSWER_TTL_MS = 30 * MINUTE;

// Messages.
/** A message that could not be sent within this time fails. */
export const SEND_TTL_MS = 1 * DAY;
/** A send with a longer retry delay no longer blocks later messages to the same person. */
export const MAX_BLOCKING_RETRY_MS = 1 * MINUTE;
/** Default of SEND_UNKNOWN_SECONDS: how long a send with unknown outcome waits for a status webhook before it fails. */
export const UNKNOWN_SEND_TIMEOUT_MS = 10 * MINUTE;

// Event stream: it reads again the ids that an open transaction may still commit. See docs/design/delivery.md.
/** A process whose clock differs more from that of Postgres takes the time of Postgres for its ids. */
export const MAX_CLOCK_DIFFERENCE_MS = 5 * SECOND;
/** An event's id is made at most this long before its transaction starts, clocks apart; an older one is made again. */
export const MAX_ID_WAIT_MS = 5 * SECOND;
/** The statistics of Postgres list a transaction at most this long after its start. */
export const TRANSACTION_LISTING_MS = 1 * SECOND;
/** A transaction that is older inserts no events, so that one without any write may be forgotten. */
export const MAX_INSERT_DELAY_MS = 1 * MINUTE;
/** The stream waits for a transaction that writes up to this age; events that it commits later may be missed. */
export const MAX_TRANSACTION_AGE_MS = 10 * MINUTE;

// Statistics.
/** A settled row that changes within this time after its acceptance is not added to late_changes. */
export const RECENT_ROW_MS = 5 * MINUTE;
/** Hours are computed again for this time after their end. It is longer than RECENT_ROW_MS: clocks differ, commits take time. */
export const ROLL_UP_MARGIN_MS = 10 * MINUTE;

// Shutdown, counted from the signal. The process manager kills after 30 s; an orderly shutdown takes at most 25 s.
/** The dispatcher aborts the deliveries in flight; they do not count as attempts. */
export const ABORT_DELIVERIES_AFTER_MS = 18 * SECOND;
/** The dispatcher stops waiting for the database to record outcomes. */
export const ABANDON_WRITES_AFTER_MS = 18.5 * SECOND;
/** The dispatcher stops waiting for anything. */
export const DISPATCHER_CLOSE_TIMEOUT_MS = 19.5 * SECOND;
/** The scheduler aborts its jobs: after WORKER_DEAD_AFTER_MS, so that the next claim may close a run that stays unfinished. */
export const ABORT_JOBS_AFTER_MS = WORKER_DEAD_AFTER_MS + 5 * SECOND;
export const SCHEDULER_CLOSE_TIMEOUT_MS = WORKER_DEAD_AFTER_MS + 8 * SECOND;
/** The limit for closing all workers of a process. */
export const PROCESS_CLOSE_TIMEOUT_MS = 24 * SECOND;
