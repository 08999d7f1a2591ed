import { SIGNUP_DIALOG_TTL_MS, SIGNUP_LEASE_MS } from "../../runtime/deadlines.ts";
import { newUuid } from "../../runtime/ids.ts";
import type { Platform, TryPhase } from "../../schema/enumerations.ts";
import type { EmbedTry } from "../../security/embed-states.ts";
import type { Database } from "../../store/database/database.ts";
import { cancelTry, claimTry, insertTry } from "../../store/embed/tries.ts";
import { serviceActor } from "../tenants/service-actor.ts";
import type { SignupRun } from "./signup-run.ts";

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

/** Begins a try and returns its id. Undefined when the session cannot be used any more, or has had too many tries. */
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

/** Ends a try whose dialog led back without a grant. False when the dialog was not open any more. */
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
