import type { Platforms } from "../../platforms/platforms.ts";
import { type EventNotifier, notifyAfterCommit } from "../../queue/wake-ups.ts";
import { SIGNUP_DIALOG_TTL_MS, SIGNUP_LEASE_MS } from "../../runtime/deadlines.ts";
import { newUuid } from "../../runtime/ids.ts";
import type { Log } from "../../runtime/log.ts";
import type { Platform, SignupStep, TryPhase } from "../../schema/enumerations.ts";
import { toStorable } from "../../schema/storable.ts";
import type { SecretBox } from "../../security/secret-box.ts";
import type { EmbedTry } from "../../security/signatures-and-states.ts";
import type { Database } from "../../store/database/database.ts";
import { DatabaseUnavailable } from "../../store/database/faults.ts";
import type { EmbedSessionRow } from "../../store/embed/sessions.ts";
import {
  type ClaimedTryRow,
  cancelTry,
  claimTry,
  failTry,
  insertTry,
  renewTry,
  type TryLease,
} from "../../store/embed/tries.ts";
import type { AuditActor } from "../../store/tenants/audit-log.ts";
import { type EventDraft, recordEvents } from "../events/record-events.ts";
import { serviceActor } from "../tenants/audit-actors.ts";
import { type StepFailure, toStepFailure } from "./signup-platforms.ts";

/**
 * A session has at most one try. Its phases, moved by the person's requests:
 *
 * (none) -> dialog: the person begins a try, which ends the one before.
 * dialog -> connecting: the dialog leads back with a code. One request claims the steps and renews its lease.
 * connecting -> choosing, pin: the steps wait for the person; the grant is stored encrypted.
 * choosing, pin -> connecting: the person has answered, and the next request claims the steps.
 * any -> (none): completed, failed, cancelled, revoked, expired, or the lease or the time to answer has ended.
 */

/** Bounds the platform calls that one link can cause. */
export const MAX_TRIES = 50;

/** Begins a try and returns its id. Undefined when the session can no longer be used, or has had too many tries. */
export async function beginTry(
  db: Database,
  sessionId: string,
  platform: Platform,
): Promise<string | undefined> {
  const newTry = { sessionId, tryId: newUuid(), platform, ttlMs: SIGNUP_DIALOG_TTL_MS, maxTries: MAX_TRIES };
  return (await insertTry(db, newTry)) ? newTry.tryId : undefined;
}

/** Ends a try that waits for the person. The steps of a try cannot be cancelled. */
export const cancelWaitingTry = (db: Database, embedTry: EmbedTry): Promise<boolean> =>
  cancelTry(db, { ...embedTry, phases: ["dialog", "choosing", "pin"] satisfies TryPhase[] });

/** Ends a try whose dialog led back without a grant. False when the dialog was no longer open. */
export const cancelDialog = (db: Database, embedTry: EmbedTry): Promise<boolean> =>
  cancelTry(db, { ...embedTry, phases: ["dialog"] satisfies TryPhase[] });

/** Where a person's request came from. */
interface Origin {
  address: string;
  requestId: string;
}

/** Claims the steps of a try for this request. Undefined when another request has claimed or ended the try. */
export async function claimSteps(
  db: Database,
  embedTry: EmbedTry & { phase: Exclude<TryPhase, "connecting"> },
  { address, requestId }: Origin,
): Promise<SignupRun | undefined> {
  const lease = { sessionId: embedTry.sessionId, lease: newUuid() };
  const row = await claimTry(db, { ...embedTry, ...lease, leaseMs: SIGNUP_LEASE_MS });
  return row && { row, lease, actor: { ...serviceActor(row.client_id), address, requestId } };
}

export interface SignupParts {
  db: Database;
  secretBox: SecretBox;
  notifier: EventNotifier;
  log: Log;
  platforms: Pick<Platforms, "chat" | "social">;
  /** The dialog's redirect_uri. */
  redirectUri: string;
}

/** The steps of one try, claimed by one request. */
export interface SignupRun {
  row: ClaimedTryRow;
  lease: TryLease;
  /** Recorded in the audit log: the person has no credential. */
  actor: AuditActor;
}

/** Runs one step. Throws TryLost instead when another request has ended the try. */
export type RunStep = <T>(step: SignupStep, work: () => Promise<T>) => Promise<T>;

class TryLost extends Error {}

/** Ids for the log. */
export const aboutRun = ({ row, actor }: SignupRun) => ({
  request_id: actor.requestId,
  client: row.client_id,
  session_id: row.id,
});

/**
 * Runs steps until they end or pause. A failed step makes the session `failed`. Without Postgres the try stays `connecting`
 * until its lease expires, as after a crash; the person can begin another one at any time.
 */
export async function runSteps(
  parts: SignupParts,
  run: SignupRun,
  work: (runStep: RunStep) => Promise<void>,
): Promise<void> {
  let currentStep: SignupStep = "exchange";
  try {
    await work(async (step, runWork) => {
      currentStep = step;
      if (!(await renewTry(parts.db, run.lease, SIGNUP_LEASE_MS))) throw new TryLost();
      return runWork();
    });
  } catch (error) {
    if (error instanceof TryLost) return;
    if (error instanceof DatabaseUnavailable) throw error;
    const failure = toStepFailure(currentStep, error);
    await recordFailure(parts, run, failure);
    if (failure.code === "internal_error") throw error;
  }
}

const MAX_MESSAGE_CHARS = 500;

async function recordFailure(parts: SignupParts, run: SignupRun, failure: StepFailure): Promise<void> {
  const { step, code } = failure;
  const shown = { ...failure, message: toStorable(failure.message.slice(0, MAX_MESSAGE_CHARS)) };
  const isRecorded = await notifyAfterCommit(parts, async (tx, deferredNotifier) => {
    const session = await failTry(tx, run.lease, shown);
    if (session) await recordEvents(tx, [sessionFailed(session, shown)], deferredNotifier);
    return session !== undefined;
  });
  if (isRecorded)
    parts.log.warn("signup.failed", { ...aboutRun(run), platform: run.row.try_platform, step, code });
}

const sessionFailed = (
  { id, client_id, external_ref }: EmbedSessionRow,
  { code, message, step }: StepFailure,
): EventDraft => ({
  clientId: client_id,
  type: "embed_session.failed",
  key: "embedded_signup",
  externalRef: external_ref,
  data: { session_id: id, code, message, step },
});
