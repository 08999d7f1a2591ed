import type { Platforms } from "../../platforms/platforms.ts";
import { type EventNotifier, notifyAfterCommit } from "../../queue/wake-ups.ts";
import { SIGNUP_LEASE_MS } from "../../runtime/deadlines.ts";
import type { Log } from "../../runtime/logging/log.ts";
import type { SignupStep } from "../../schema/enumerations.ts";
import { toStorable } from "../../schema/storable.ts";
import type { SecretBox } from "../../security/secret-box.ts";
import type { Database } from "../../store/database/database.ts";
import { DatabaseUnavailable } from "../../store/database/faults.ts";
import { failTry, renewTry } from "../../store/embed/claimed-tries.ts";
import type { ClaimedTryRow, TryLease } from "../../store/embed/tries.ts";
import type { AuditActor } from "../../store/tenants/audit-log.ts";
import { recordEvents } from "../events/record-events.ts";
import { sessionFailed } from "./session-events.ts";
import { type StepFailure, toStepFailure } from "./signup-error.ts";

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
