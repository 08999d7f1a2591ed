import { randomUUID } from "node:crypto";
import type { Database } from "../../../src/store/database/database.ts";
import { type ClaimedDelivery, claimSuspect } from "../../../src/store/events/claim-deliveries.ts";
import type { Claim } from "./attempt-claimed.ts";

/**
 * A suspect is a delivery whose dispatchers died repeatedly. It is in no stream: it waits in Postgres until `deliverDue`
 * claims it, and is in flight until its outcome is written or abandoned. Only then the next one is claimed, so that this
 * dispatcher has at most one in flight and a suspect that kills it adds no death to another.
 */

interface SuspectParts {
  /** This dispatcher's id in the rows. */
  worker: string;
  db: Database;
  /** False while this dispatcher may claim nothing: it stops, or its heartbeats are not recorded. */
  canClaim(): boolean;
  /** Resolves when the outcomes of earlier deliveries are written. */
  waitForDrain(): Promise<void>;
  /** Delivers the claimed row; resolves when its outcome is written or abandoned. */
  deliver(row: ClaimedDelivery, claim: Claim): Promise<void>;
}

export function createSuspects({ worker, db, canClaim, waitForDrain, deliver }: SuspectParts) {
  const running = new Set<Promise<void>>();
  /** Kept until a claim is answered: after a lost response it returns the suspect that was claimed. */
  let lease = randomUUID();

  /** False when no suspect is due. */
  async function claimAndDeliver(): Promise<boolean> {
    const claim = { lease, claimedAt: performance.now() };
    const row = await claimSuspect(db, { token: lease, worker });
    lease = randomUUID();
    if (row) await deliver(row, claim);
    return row !== undefined;
  }

  function track<T>(work: Promise<T>): Promise<T> {
    const settled: Promise<void> = work.then(
      () => void running.delete(settled),
      () => void running.delete(settled),
    );
    running.add(settled);
    return work;
  }

  return {
    /** Delivers the due suspects, one after the other. */
    async deliverDue(): Promise<void> {
      do await waitForDrain();
      while (canClaim() && (await track(claimAndDeliver())));
    },
    /** The claim or delivery in progress; never rejects. */
    running: (): Promise<void>[] => [...running],
  };
}
