import { addressOf } from "../../../src/delivery/endpoints.ts";
import type { EventPost, EventPoster, PostedEvent } from "../../../src/delivery/post-event.ts";
import { attemptHeaders } from "../../../src/delivery/signature.ts";
import type { Breakers, Destination } from "../../../src/queue/breakers.ts";
import { SECOND } from "../../../src/runtime/durations.ts";
import type { EventKey, EventType } from "../../../src/schema/enumerations.ts";
import type { SecretBox } from "../../../src/security/secret-box.ts";
import { tokensOf } from "../../../src/security/webhook-tokens.ts";
import type { ClaimedRow } from "../../../src/store/events/claim-deliveries.ts";
import { type Ending, ended, postponed, skipped, spoiled } from "./outcomes.ts";

interface DeliveryParts {
  secretBox: SecretBox;
  poster: EventPoster;
  breakers: Breakers;
  /** The body, with what has to be fetched for it. */
  complete(row: ClaimedRow): Promise<string>;
}

/**
 * One delivery in hand, from the look at where its client wants it now to how it goes on with it. What cannot be built,
 * because its token cannot be opened or the row makes no sense, will hardly be better later: it ends too.
 */
export async function deliverEvent(
  parts: DeliveryParts,
  row: ClaimedRow,
  signal: AbortSignal,
): Promise<Ending> {
  try {
    return await attempted(parts, row, signal);
  } catch (error) {
    return spoiled(row, error instanceof Error ? error : new Error("not built", { cause: error }));
  }
}

async function attempted(
  { secretBox, poster, breakers, complete }: DeliveryParts,
  row: ClaimedRow,
  signal: AbortSignal,
): Promise<Ending> {
  if (row.is_off) return skipped("disabled");
  if (row.webhook_url === null) return skipped("not_configured");
  const destination = { clientId: row.client_id, origin: new URL(row.webhook_url).origin };
  const passage = await passageTo(destination, breakers);
  if (passage.outcome === "closed") return postponed(row, passage.delay);
  const post = built({ ...row, payload: await complete(row) }, row.webhook_url, secretBox);
  const at = new Date();
  const posted = await poster.post(post, signal);
  if (!signal.aborted) await breakers.note(destination, { isBad: isBad(posted), isProbe: passage.isProbe });
  return ended(row, {
    ...posted,
    at,
    url: post.url,
    isAborted: signal.aborted && posted.error === "aborted",
  });
}

function built(row: ClaimedRow, base: string, secretBox: SecretBox): EventPost {
  const { id, type, payload, attempts } = row;
  const tokens = tokensOf({ ...row, id: row.client_id }, secretBox);
  const headers = attemptHeaders({ id, type, payload, attempt: attempts + 1, tokens, at: new Date() });
  return { url: addressOf(base, row.key as EventKey | null, type as EventType), headers, body: payload };
}

type Passage = { outcome: "free"; isProbe: boolean } | { outcome: "closed"; delay: number };

/** How long those wait that come while another one tries. */
const DURING_TRIAL = 5 * SECOND;

async function passageTo(destination: Destination, breakers: Breakers): Promise<Passage> {
  const found = breakers.stateOf(destination);
  if (found.state === "closed") return { outcome: "free", isProbe: false };
  // Spread, for all of them would otherwise be due in the same moment.
  if (found.state === "open")
    return { outcome: "closed", delay: found.remaining + Math.random() * Math.max(SECOND, found.rest / 5) };
  return (await breakers.mayProbe(destination.clientId))
    ? { outcome: "free", isProbe: true }
    : { outcome: "closed", delay: DURING_TRIAL };
}

/** No connection, no answer in time, or one that says that the fault is on its side. */
const isBad = ({ outcome, statusCode }: PostedEvent): boolean =>
  outcome === "failed" || (statusCode !== null && statusCode >= 500);
