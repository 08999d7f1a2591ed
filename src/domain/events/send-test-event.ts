import { logAttempt } from "../../delivery/attempt-log.ts";
import { addressOf } from "../../delivery/endpoints.ts";
import type { EventPoster } from "../../delivery/post-event.ts";
import { attemptHeaders } from "../../delivery/signature.ts";
import { newId } from "../../runtime/ids.ts";
import type { Log } from "../../runtime/logging/log.ts";
import type { EventKey } from "../../schema/enumerations.ts";
import type { SecretBox } from "../../security/secret-box.ts";
import { openWebhookTokens } from "../../security/webhook-tokens.ts";
import type { Database } from "../../store/database/database.ts";
import { insertEvents } from "../../store/events/insert-events.ts";
import {
  beginSingleAttempt,
  type FinishedAttempt,
  finishSingleAttempt,
} from "../../store/events/single-attempts.ts";
import { findWebhookConfig } from "../../store/tenants/webhook-configs.ts";
import { toNewEvent } from "./record-events.ts";

export interface TestEventParts {
  db: Database;
  secretBox: SecretBox;
  poster: EventPoster;
  log: Log;
}

const TYPE = "webhook.test";

/** Sends one event now, once, whatever the switches say. Undefined when there is nowhere to send it. */
export async function sendTestEvent(
  { db, secretBox, poster, log }: TestEventParts,
  clientId: string,
  key: EventKey | null,
): Promise<FinishedAttempt | undefined> {
  const config = await findWebhookConfig(db, clientId);
  if (config.webhook_url === null) return undefined;
  const tokens = openWebhookTokens(config, secretBox);
  const url = addressOf(config.webhook_url, key, TYPE);
  const event = toNewEvent(newId("evt"), { clientId, type: TYPE, key, data: {} });
  const { id, payload: body } = event;
  // Before it is sent: an event that a client has received must be in its history, even if we die here.
  const [recorded] = await db.transaction(async (tx) => {
    const events = await insertEvents(tx, [event]);
    for (const each of events) await beginSingleAttempt(tx, clientId, { id: each.id, url });
    return events;
  });
  if (recorded === undefined) return undefined; // its client was erased meanwhile
  const headers = attemptHeaders({ id, type: TYPE, payload: body, attempt: 1, tokens, at: new Date() });
  const posted = await poster.post({ url, headers, body });
  const ended = { id, delivered: posted.outcome === "delivered", ...posted };
  await finishSingleAttempt(db, clientId, ended);
  const attemptFields = { client: clientId, eventId: id, type: TYPE, key, attempt: 1, retryIn: null };
  const state = ended.delivered ? "delivered" : "failed";
  logAttempt(log, { ...attemptFields, ...posted, state, status: posted.statusCode });
  return ended;
}
