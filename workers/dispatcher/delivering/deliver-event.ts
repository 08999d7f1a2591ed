import type { PostControl, PostedEvent } from "../../../src/delivery/post-event.ts";
import {
  type AttemptParts,
  type PreparedAttempt,
  prepareAttempt,
} from "../../../src/delivery/signed-attempt.ts";
import type { Breakers, Destination } from "../../../src/queue/breakers.ts";
import type { EventKey, EventType } from "../../../src/schema/enumerations.ts";
import type { Database } from "../../../src/store/database/database.ts";
import type { ClaimedDelivery } from "../../../src/store/events/claim-deliveries.ts";
import { listWebhookUrls } from "../../../src/store/tenants/webhook-configs.ts";
import { type DeliveryOutcome, internalFailure, outcomeOfAttempt, postponed, skipped } from "./outcomes.ts";

interface DeliveryParts extends AttemptParts {
  breakers: Breakers;
}

/** The attempt as its dispatcher controls it. */
export type AttemptControl = Required<PostControl>;

/**
 * Returns a function that attempts one claimed delivery with its client's current configuration and returns the outcome. A
 * delivery that cannot be built, because its token cannot be decrypted or its row is invalid, is an internal failure.
 */
export const createEventDeliverer =
  (parts: DeliveryParts) =>
  async (row: ClaimedDelivery, control: AttemptControl): Promise<DeliveryOutcome> => {
    try {
      return await attemptDelivery(parts, row, control);
    } catch (error) {
      return internalFailure(
        row,
        error instanceof Error ? error : new Error("the delivery could not be built", { cause: error }),
      );
    }
  };

async function attemptDelivery(
  parts: DeliveryParts,
  row: ClaimedDelivery,
  { signal, tracked }: AttemptControl,
): Promise<DeliveryOutcome> {
  const { webhook_url } = row;
  if (row.is_off) return skipped("disabled");
  if (webhook_url === null) return skipped("not_configured");
  const destination = { clientId: row.client_id, origin: new URL(webhook_url).origin };
  const breakerCheck = await checkBreaker(destination, parts.breakers);
  if (breakerCheck.outcome === "blocked") return postponed(row, 0);
  tracked.resume();
  const attempt = prepareClaimed(parts, row, webhook_url);
  const at = new Date();
  const posted = await attempt.send({ signal, tracked });
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

function prepareClaimed(parts: AttemptParts, row: ClaimedDelivery, webhook_url: string): PreparedAttempt {
  const { client_id, secret_sealed, former_secret_sealed, former_secret_until, token_header } = row;
  return prepareAttempt(
    parts,
    { client_id, webhook_url, secret_sealed, former_secret_sealed, former_secret_until, token_header },
    {
      id: row.id,
      type: row.type as EventType,
      key: row.key as EventKey | null,
      payload: row.payload,
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
  for (const { client_id: clientId, webhook_url } of await listWebhookUrls(db, breakers.clients()))
    await breakers.closeFormer({ clientId, origin: new URL(webhook_url).origin });
  await refreshing;
}
