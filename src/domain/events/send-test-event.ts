import { type AttemptParts, logAttempt, prepareAttempt } from "../../delivery/signed-attempt.ts";
import { newId } from "../../runtime/ids.ts";
import type { Log } from "../../runtime/log.ts";
import type { EventKey } from "../../schema/enumerations.ts";
import type { Database } from "../../store/database/database.ts";
import { insertEvents } from "../../store/events/insert-events.ts";
import {
  beginSingleAttempt,
  type FinishedAttempt,
  finishSingleAttempt,
} from "../../store/events/single-attempts.ts";
import { findWebhookConfig } from "../../store/tenants/webhook-configs.ts";
import { toNewEvent } from "./record-events.ts";

export interface TestEventParts extends AttemptParts {
  db: Database;
  log: Log;
}

const TYPE = "webhook.test";

/** Sends one event immediately, once, even if its key is disabled. Undefined when there is no webhook_url. */
export async function sendTestEvent(
  parts: TestEventParts,
  clientId: string,
  key: EventKey | null,
): Promise<FinishedAttempt | undefined> {
  const { db, log } = parts;
  const { webhook_url, ...config } = await findWebhookConfig(db, clientId);
  if (webhook_url === null) return undefined;
  const event = toNewEvent(newId("evt"), { clientId, type: TYPE, key, data: {} });
  const { id, payload } = event;
  const outgoing = { id, type: TYPE, key, payload, attempt: 1 } as const;
  const attempt = prepareAttempt(parts, { ...config, webhook_url }, outgoing);
  // Recorded before it is sent: an event that a client has received must be in its history, even after a
  // crash.
  const [recorded] = await db.transaction(async (tx) => {
    const events = await insertEvents(tx, [event]);
    for (const each of events) await beginSingleAttempt(tx, clientId, { id: each.id, url: attempt.url });
    return events;
  });
  if (recorded === undefined) return undefined; // the client was deleted meanwhile
  const posted = await attempt.send();
  const ended = { id, delivered: posted.outcome === "delivered", ...posted };
  await finishSingleAttempt(db, clientId, ended);
  const attemptFields = { client: clientId, eventId: id, type: TYPE, key, attempt: 1, retryIn: null };
  const state = ended.delivered ? "delivered" : "failed";
  logAttempt(log, { ...attemptFields, ...posted, state, status: posted.statusCode });
  return ended;
}
