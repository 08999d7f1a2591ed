import type { PostControl, PostedEvent } from "../../../src/delivery/post-event.ts";
import {
  type AttemptParts,
  type PreparedAttempt,
  prepareAttempt,
} from "../../../src/delivery/prepare-attempt.ts";
import type { Breakers, Destination } from "../../../src/queue/breakers.ts";
import type { EventKey, EventType } from "../../../src/schema/enumerations.ts";
import type { Database } from "../../../src/store/database/database.ts";
import type { ClaimedDelivery } from "../../../src/store/events/claim-deliveries.ts";
import { listWebhookUrls } from "../../../src/store/tenants/webhook-configs.ts";
import { type DeliveryOutcome, internalFailure, outcomeOfAttempt, postponed, skipped } from "./outcomes.ts";

interface DeliveryParts extends AttemptParts {
  breakers: Breakers;
  /** Returns the body, including fields that have to be fetched first. */
  completePayload(row: ClaimedDelivery): Promise<string>;
}

/** The attempt as its dispatcher controls it. */
export type AttemptControl = Required<PostControl>;

/**
 * Attempts one claimed delivery with its client's current configuration; returns the outcome. A delivery that cannot be
 * built, because its token cannot be decrypted or its row is invalid, is an internal failure.
 */
export async function deliverEvent(
  parts: DeliveryParts,
  row: ClaimedDelivery,
  control: AttemptControl,
): Promise<DeliveryOutcome> {
  try {
    return await attemptDelivery(parts, row, control);
  } catch (error) {
    return internalFailure(
      row,
      error instanceof Error ? error : new Error("the delivery could not be built", { cause: error }),
    );
  }
}

async function attemptDelivery(
  parts: DeliveryParts,
  row: ClaimedDelivery,
  { signal, unit }: AttemptControl,
): Promise<DeliveryOutcome> {
  const { webhook_url } = row;
  if (row.is_off) return skipped("disabled");
  if (webhook_url === null) return skipped("not_configured");
  const destination = { clientId: row.client_id, origin: new URL(webhook_url).origin };
  const breakerCheck = await checkBreaker(destination, parts.breakers);
  if (breakerCheck.outcome === "blocked") return postponed(row, 0);
  const payload = await parts.completePayload(row);
  unit.resume();
  const attempt = prepareClaimed(parts, row, { webhook_url, payload });
  const at = new Date();
  const posted = await attempt.send({ signal, unit });
  if (!signal.aborted)
    await parts.breakers.recordResult(destination, {
      isFailure: isFailure(posted),
      isProbe: breakerCheck.isProbe,
    });
  return outcomeOfAttempt(row, {
    ...posted,
    at,
    url: attempt.url,
    isAborted: signal.aborted && posted.error === "aborted",
  });
}

function prepareClaimed(
  parts: AttemptParts,
  row: ClaimedDelivery,
  { webhook_url, payload }: { webhook_url: string; payload: string },
): PreparedAttempt {
  return prepareAttempt(
    parts,
    { ...row, id: row.client_id, webhook_url },
    {
      id: row.id,
      type: row.type as EventType,
      key: row.key as EventKey | null,
      payload,
      attempt: row.attempts + 1,
    },
  );
}

type BreakerCheck = { outcome: "allowed"; isProbe: boolean } | { outcome: "blocked" };

/** The claim loop claims nothing for a client whose breaker is open; one may open while its deliveries are claimed. */
async function checkBreaker(destination: Destination, breakers: Breakers): Promise<BreakerCheck> {
  const breaker = breakers.stateOf(destination);
  if (breaker.state === "closed") return { outcome: "allowed", isProbe: false };
  if (breaker.state === "half_open" && (await breakers.tryAcquireProbe(destination.clientId)))
    return { outcome: "allowed", isProbe: true };
  return { outcome: "blocked" };
}

/** True for a failed connection, a timeout and a 5xx; any other status proves that the destination works. */
const isFailure = ({ outcome, statusCode }: PostedEvent): boolean =>
  outcome === "failed" || (statusCode !== null && statusCode >= 500);

/** Reads the other dispatchers' breakers, and closes those of backends that their clients have replaced, also without Redis. */
export async function refreshBreakers({ db, breakers }: { db: Database; breakers: Breakers }): Promise<void> {
  const refreshing = breakers.refresh();
  await refreshing.catch(() => {});
  for (const { id, webhook_url } of await listWebhookUrls(db, breakers.clients()))
    await breakers.closeFormer({ clientId: id, origin: new URL(webhook_url).origin });
  await refreshing;
}
