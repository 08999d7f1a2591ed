import { isAmbiguous } from "../../platforms/errors/failure.ts";
import { pause } from "../../runtime/async/timeouts-and-retries.ts";
import { FIRST_REPLY_TIMEOUT_MS, OPERATION_LEASE_MS } from "../../runtime/deadlines.ts";
import { newUuid } from "../../runtime/ids.ts";
import type { Log } from "../../runtime/log.ts";
import type { Database, Queryable } from "../../store/database/database.ts";
import {
  type ClaimedOperationRow,
  completeClaim,
  deleteOperation,
  insertClaim,
  lockOperation,
  markClaimAmbiguous,
  type OperationClaim,
  releaseClaim,
  renewClaim,
  takeOverOperation,
} from "../../store/tenants/idempotency-keys.ts";

/**
 * Creates an object at a platform at most once per Idempotency-Key. States of an operation, moved by the requests with its key:
 *
 * (none) -> claimed: committed before the call, with a lease.
 * claimed -> completed: the call succeeded, and its reply is stored.
 * claimed -> (none): the call failed and certainly had no effect, so the key is free.
 * claimed -> ambiguous: the call may have happened. A claim whose lease has expired counts as ambiguous too.
 * ambiguous -> claimed: the next request looks for the call's effect before it calls again.
 */

/** An operation of a client, identified by an Idempotency-Key. */
export interface KeyedOperation<T> {
  clientId: string;
  id: string;
  fingerprint: string;
  /** Encrypts the reply for storage. */
  seal(reply: T): string;
}

/** One run of an operation. */
export interface OperationRun {
  /** Since when an earlier run may have had an effect; undefined when there was none. */
  ambiguousSince: Date | undefined;
  /** True when the process of the earlier run died, so that the ambiguity is not recorded yet. */
  isAbandoned: boolean;
  /** Must run right before the platform call. Throws when another request has taken the operation over. */
  confirm(): Promise<void>;
}

/** A run without an Idempotency-Key. */
export const UNKEYED_RUN: OperationRun = {
  ambiguousSince: undefined,
  isAbandoned: false,
  confirm: async () => {},
};

/** The result of a run that creates an object. */
export interface Created<T> {
  reply: T;
  /** True when an earlier run has created the object. */
  isFound: boolean;
}

export type OnceOutcome<T> =
  | { outcome: "done"; created: Created<T> }
  /** An earlier request with this key succeeded. */
  | { outcome: "completed"; key: { fingerprint: string; reply_sealed: string } }
  | { outcome: "in_progress" }
  /** The key was used with another body. */
  | { outcome: "reused" };

interface Parts {
  db: Database;
  log: Log;
}

export async function runOnce<T>(
  { db, log }: Parts,
  operation: KeyedOperation<T>,
  create: (run: OperationRun) => Promise<Created<T>>,
): Promise<OnceOutcome<T>> {
  const claimed = await claimWithinTimeout(db, operation);
  if (claimed.outcome !== "claimed") return claimed;
  const { claim, ambiguousSince, isAbandoned } = claimed;
  const confirm = async () => {
    if (!(await renewClaim(db, claim, OPERATION_LEASE_MS))) throw new ClaimLost();
  };
  /** A failed write leaves the claim, which then counts as ambiguous: the outcome of the work remains valid. */
  const record = (write: Promise<void>) =>
    write.catch((err: unknown) =>
      log.warn("operation.write_failed", { client: operation.clientId, operation: operation.id, err }),
    );
  try {
    const created = await create({ ambiguousSince, isAbandoned, confirm });
    await record(completeClaim(db, claim, operation.seal(created.reply)));
    return { outcome: "done", created };
  } catch (error) {
    if (error instanceof ClaimLost) return { outcome: "in_progress" };
    const mayHaveHappened = ambiguousSince !== undefined || isAmbiguous(error);
    await record(mayHaveHappened ? markClaimAmbiguous(db, claim) : releaseClaim(db, claim));
    throw error;
  }
}

class ClaimLost extends Error {}

type ClaimOutcome =
  | { outcome: "claimed"; claim: OperationClaim; ambiguousSince: Date | undefined; isAbandoned: boolean }
  | Exclude<OnceOutcome<never>, { outcome: "done" }>;

const POLL_INTERVAL_MS = 100;

/** Waits for the first request with the key, which another process may be working on. */
async function claimWithinTimeout<T>(db: Database, operation: KeyedOperation<T>): Promise<ClaimOutcome> {
  const deadline = Date.now() + FIRST_REPLY_TIMEOUT_MS;
  for (;;) {
    const outcome = await db.transaction((tx) => claim(tx, operation));
    if (outcome.outcome !== "in_progress" || Date.now() >= deadline) return outcome;
    await pause(POLL_INTERVAL_MS);
  }
}

async function claim<T>(
  tx: Queryable,
  { clientId, id, fingerprint }: KeyedOperation<T>,
): Promise<ClaimOutcome> {
  const newClaim = {
    clientId,
    operationId: id,
    fingerprint,
    claimId: newUuid(),
    leaseMs: OPERATION_LEASE_MS,
  };
  const first = {
    outcome: "claimed",
    claim: newClaim,
    ambiguousSince: undefined,
    isAbandoned: false,
  } as const;
  if (await insertClaim(tx, newClaim)) return first;
  const row = await lockOperation(tx, clientId, id);
  if (!row) return { outcome: "in_progress" }; // released in the meantime: the next try claims it
  if (row.is_expired) {
    await deleteOperation(tx, clientId, id);
    await insertClaim(tx, newClaim);
    return first;
  }
  if (row.fingerprint !== fingerprint) return { outcome: "reused" };
  if (isCompleted(row)) return { outcome: "completed", key: row };
  if (row.state === "claimed" && !row.is_lease_expired) return { outcome: "in_progress" };
  await takeOverOperation(tx, newClaim);
  return { ...first, ambiguousSince: row.created_at, isAbandoned: row.state === "claimed" };
}

const isCompleted = (row: ClaimedOperationRow): row is ClaimedOperationRow & { reply_sealed: string } =>
  row.state === "completed";
