import { type EventDraft, recordEvents } from "../../../src/domain/events/record-events.ts";
import {
  CHANNEL_DISCONNECTED,
  EXPIRED,
  type MessageError,
  OUTCOME_UNKNOWN,
  QUARANTINED,
  toStoredError,
  UNKNOWN_ATTEMPT_ERRORS,
} from "../../../src/domain/messages/message-errors.ts";
import { messageStatus, sendResult } from "../../../src/domain/messages/send-outcomes.ts";
import { type EventNotifier, notifyAfterCommit } from "../../../src/queue/wake-ups.ts";
import { withTimeout } from "../../../src/runtime/async/timeouts-and-retries.ts";
import { RECOVERY_STATEMENT_LIMIT_MS, WORKER_DEAD_AFTER_MS } from "../../../src/runtime/deadlines.ts";
import { createOutageLogger, type Log } from "../../../src/runtime/log.ts";
import type { Database, Queryable } from "../../../src/store/database/database.ts";
import type { DueSendKey } from "../../../src/store/messages/claim-sends.ts";
import { type FailingStep, failSends } from "../../../src/store/messages/fail-sends.ts";
import type { SettledSend } from "../../../src/store/messages/lifecycle.ts";
import {
  createOverdueSendFinder,
  RECOVERY_STEPS,
  type RecoveryStep,
  type SendRef,
} from "../../../src/store/messages/overdue-sends.ts";
import { markSendsUnknown, requeueUnstartedSends } from "../../../src/store/messages/recover-sends.ts";
import { MAX_STARTED_SENDS, startDueSends } from "../../../src/store/messages/scheduled-sends.ts";
import {
  type ChannelRecipient,
  releaseMissedSends,
  releaseNextSends,
} from "../../../src/store/messages/send-order.ts";
import { LEASE_LIMITS, lockRecovery } from "../../../src/store/processes/workers.ts";

/**
 * The recovery of sends, once a second. One read finds the sends of all steps; see OVERDUE for their conditions. Each step has its
 * own lock, transaction, limits and outage: one that fails or is slow delays no other.
 *
 * | step | moves on | to |
 * |---|---|---|
 * | requeue_unstarted | sends that a dead dispatcher had claimed and not begun | waiting |
 * | mark_unknown | sends whose request a dead dispatcher may have written | unknown |
 * | fail_unknown | unknown sends whose status did not arrive in time | failed |
 * | fail_expired | sends that waited too long for their turn or their channel | failed |
 * | fail_quarantined | sends whose dispatchers died too often | failed |
 * | fail_expired_in_batch | sends of a batch that has expired | failed |
 * | fail_disconnected | single sends whose channel was disconnected | failed |
 * | start_due | scheduled sends whose time has come | behind, or waiting |
 * | release_missed | the next send to a person whose earlier one has ended | waiting |
 *
 * A step moves at most 500 sends in one transaction. Those with an entry in MAX_TRANSACTIONS go on in further ones, of 100 sends or
 * people each.
 */

export interface SendRecoveryParts {
  db: Database;
  log: Log;
  /** Notifies of the events. */
  notifier: EventNotifier;
  /** Milliseconds for which this worker's heartbeats have had no gap. */
  aliveForMs(): number;
  /** Milliseconds that a send of unknown outcome waits for a status webhook. */
  unknownTimeoutMs: number;
  /** Called for each message that failed and is not retried. */
  onAbandoned(row: SettledSend, error: MessageError): void;
  /** Called with the keys of sends that wait from now on, apart from those of dead dispatchers. */
  onReleased(keys: readonly DueSendKey[]): void;
  maxStepWaitMs?: number;
}

/** The outcome of one transaction of a step. */
interface StepResult {
  requeued?: number;
  /** Sends that became unknown. */
  interrupted?: readonly SettledSend[];
  failed?: readonly SettledSend[];
  released?: readonly DueSendKey[];
  /** The last person that was checked; undefined when the step has come to the end. */
  lastChecked?: ChannelRecipient | undefined;
  /** True when the step goes on in another transaction. */
  hasMore?: boolean;
}

type StepTransaction = (tx: Queryable, notifier: EventNotifier) => Promise<StepResult>;

/** A slow step goes on alone after this time, while the others follow. */
const MAX_STEP_WAIT_MS = 200;
/** Slow steps at a time: each has a connection, which claims and writes need too. */
const MAX_SLOW_STEPS = 3;
/**
 * In each run, of the steps that find their sends themselves: many scheduled sends of one client delay those of others by seconds
 * only.
 */
const MAX_TRANSACTIONS: Readonly<Partial<Record<RecoveryStep, number>>> = {
  start_due: 50,
  release_missed: 10,
};

/** Returns the recovery. Several dispatchers may run it: each step is done by one of them at a time. */
export function createSendRecovery(parts: SendRecoveryParts): () => Promise<void> {
  const { db, log, maxStepWaitMs = MAX_STEP_WAIT_MS } = parts;
  const findOverdue = createOverdueSendFinder(db);
  const running = new Map<RecoveryStep, Promise<void>>();
  const outageLoggers = new Map(
    RECOVERY_STEPS.map((step) => [step, createOutageLogger(log, STEP_LOG_EVENTS, { step })]),
  );
  let lastChecked: ChannelRecipient | undefined;

  async function run(step: RecoveryStep, refs: readonly SendRef[]): Promise<void> {
    try {
      const maxTransactions = MAX_TRANSACTIONS[step] ?? 1;
      for (let count = 0, hasMore = true; hasMore && count < maxTransactions; count++) {
        const result = await runOnce(parts, step, transactionOf(parts, { step, refs, lastChecked }));
        if (step === "release_missed") lastChecked = result.lastChecked;
        hasMore = result.hasMore ?? false;
      }
      outageLoggers.get(step)?.recovered();
    } catch (error) {
      outageLoggers.get(step)?.failed(error);
    }
  }

  return async () => {
    const overdue = await findOverdue(LEASE_LIMITS);
    for (const step of RECOVERY_STEPS) {
      const refs = overdue.get(step);
      if (!refs || running.has(step) || !mayRun(parts, step)) continue;
      if (running.size >= MAX_SLOW_STEPS) await Promise.race(running.values());
      const turn = run(step, refs).finally(() => running.delete(step));
      running.set(step, turn);
      await withTimeout(maxStepWaitMs, turn, () => {});
    }
  };
}

const STEP_LOG_EVENTS = {
  unavailable: "send_recovery.step_failed",
  recovered: "send_recovery.step_recovered",
} as const;

/** After a database outage every worker looks dead: one with a gap itself first waits for the others' heartbeats. */
const mayRun = ({ aliveForMs }: SendRecoveryParts, step: RecoveryStep): boolean =>
  !(step === "requeue_unstarted" || step === "mark_unknown") || aliveForMs() >= WORKER_DEAD_AFTER_MS;

/** Runs one transaction of a step; none while another dispatcher is at it. */
async function runOnce(
  parts: SendRecoveryParts,
  step: RecoveryStep,
  work: StepTransaction,
): Promise<StepResult> {
  const result = await notifyAfterCommit(
    parts,
    async (tx, notifier): Promise<StepResult> =>
      (await lockRecovery(tx, `sends ${step}`)) ? work(tx, notifier) : {},
    { statementMs: RECOVERY_STATEMENT_LIMIT_MS },
  );
  if (result.released) parts.onReleased(result.released);
  report(parts, result);
  return result;
}

interface StepInput {
  step: RecoveryStep;
  /** The sends that were found. */
  refs: readonly SendRef[];
  /** Where the last transaction of `release_missed` ended. */
  lastChecked: ChannelRecipient | undefined;
}

function transactionOf(
  { unknownTimeoutMs }: SendRecoveryParts,
  { step, refs, lastChecked }: StepInput,
): StepTransaction {
  switch (step) {
    case "requeue_unstarted":
      return async (tx) => ({ requeued: await requeueUnstartedSends(tx, refs, LEASE_LIMITS) });
    case "mark_unknown":
      return markUnknown(refs, unknownTimeoutMs);
    case "start_due":
      return startDue;
    case "release_missed":
      return async (tx) => {
        const last = await releaseMissedSends(tx, lastChecked);
        return { lastChecked: last, hasMore: last !== undefined };
      };
    default:
      return fail(step, refs);
  }
}

const markUnknown =
  (refs: readonly SendRef[], waitMs: number): StepTransaction =>
  async (tx, notifier) => {
    const error = JSON.stringify(UNKNOWN_ATTEMPT_ERRORS.interrupted);
    const interrupted = await markSendsUnknown(tx, refs, { ...LEASE_LIMITS, waitMs, error });
    await recordEvents(tx, interrupted.map(toInterruptedEvent), notifier);
    return { interrupted, released: await releaseNextSends(tx, interrupted) };
  };

const startDue: StepTransaction = async (tx) => {
  const started = await startDueSends(tx);
  return { released: await releaseNextSends(tx, started), hasMore: started.length === MAX_STARTED_SENDS };
};

const fail =
  (step: FailingStep, refs: readonly SendRef[]): StepTransaction =>
  async (tx, notifier) => {
    const failed = await failSends(tx, step, refs, ERRORS[step].map(toStoredError));
    const toEvents = step === "fail_unknown" ? toFailedEvents : toRejectedEvents;
    await recordEvents(tx, failed.flatMap(toEvents), notifier);
    return { failed, released: await releaseNextSends(tx, failed) };
  };

/** The errors of failed sends, in the order of the parameters of failSends. */
const ERRORS = {
  fail_unknown: [OUTCOME_UNKNOWN],
  fail_expired: [EXPIRED, CHANNEL_DISCONNECTED],
  fail_quarantined: [QUARANTINED],
  fail_expired_in_batch: [EXPIRED],
  fail_disconnected: [CHANNEL_DISCONNECTED],
} as const satisfies Record<FailingStep, readonly MessageError[]>;

const errorOf = ({ error }: SettledSend): MessageError => JSON.parse(error ?? "{}");

const toFailedEvents = (row: SettledSend): EventDraft[] => [
  messageStatus(row, "failed", { at: new Date(), error: errorOf(row) }),
];

const toRejectedEvents = (row: SettledSend): EventDraft[] => [
  sendResult(row, "rejected", errorOf(row)),
  ...toFailedEvents(row),
];

/** A status webhook may have arrived meanwhile; it decides whether the platform accepted the message. */
const OUTCOME_BY_STATUS: Readonly<Record<string, "unknown" | "rejected">> = {
  unknown: "unknown",
  failed: "rejected",
};

const toInterruptedEvent = (row: SettledSend & { status: string }): EventDraft =>
  sendResult(row, OUTCOME_BY_STATUS[row.status] ?? "accepted");

function report(
  { log, onAbandoned }: SendRecoveryParts,
  { requeued = 0, interrupted = [], failed = [] }: StepResult,
): void {
  for (const { client_id: client, id, channel_id: channel, platform } of interrupted)
    log.warn("message.interrupted", { client, message_id: id, channel, platform });
  if (requeued + interrupted.length > 0)
    log.warn("recovery.reclaimed", { lane: "outbound", released: requeued, unknown: interrupted.length });
  for (const row of failed) onAbandoned(row, errorOf(row));
}
