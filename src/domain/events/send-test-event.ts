import { type AttemptParts, logAttempt, prepareAttempt } from "../../delivery/signed-attempt.ts";
import { onAbort, pause, withTimeout } from "../../runtime/async/timeouts-and-retries.ts";
import { TEST_EVENT_WAIT_MS } from "../../runtime/deadlines.ts";
import { newId } from "../../runtime/ids.ts";
import { JsonText, stringifyJson } from "../../runtime/json/json.ts";
import type { Log } from "../../runtime/log.ts";
import type { EventKey, EventType } from "../../schema/enumerations.ts";
import { EVENT_PAYLOADS } from "../../schema/events/event.ts";
import type { Database } from "../../store/database/database.ts";
import { DatabaseUnavailable } from "../../store/database/faults.ts";
import { insertEvents } from "../../store/events/insert-events.ts";
import {
  beginSingleAttempt,
  type FinishedAttempt,
  type FirstAttempt,
  findFirstAttempt,
  finishSingleAttempt,
} from "../../store/events/single-attempts.ts";
import { findWebhookConfig } from "../../store/tenants/webhook-configs.ts";
import { type RecordParts, recordEvents, toNewEvent } from "./record-events.ts";

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

/** A test event of any type. */
interface TypedTestEvent {
  type: EventType;
  key: EventKey | null;
  /** Merged over the data of the type's example. */
  data: object;
}

/** The fields of an example that its test event has too. */
interface ExamplePayload {
  channel_id?: string;
  ad_account_id?: string;
  external_ref?: string;
  channel_external_ref?: string;
  data: object;
  raw?: unknown;
}

/**
 * Records the example of a type with the caller's data, to be delivered like every other event. Returns its id; undefined when
 * the client was deleted meanwhile.
 */
export async function recordTestEvent(
  { db, notifier }: RecordParts,
  clientId: string,
  { type, key, data }: TypedTestEvent,
): Promise<string | undefined> {
  const [example] = EVENT_PAYLOADS[type].examples as [ExamplePayload];
  const draft = {
    clientId,
    type,
    key,
    test: true,
    channelId: example.channel_id ?? null,
    adAccountId: example.ad_account_id ?? null,
    externalRef: example.external_ref ?? null,
    channelExternalRef: example.channel_external_ref ?? null,
    data: mergeOver(example.data, data) as object,
    ...(example.raw === undefined ? {} : { raw: new JsonText(stringifyJson(example.raw)) }),
  } as const;
  const [id] = await recordEvents(db, [draft], notifier);
  return id;
}

/** Merges objects field by field and replaces all other values. */
function mergeOver(base: unknown, changes: unknown): unknown {
  if (!isJsonObject(base) || !isJsonObject(changes)) return changes;
  const merged = Object.entries(changes).map(([name, value]) => [
    name,
    Object.hasOwn(base, name) ? mergeOver(base[name], value) : value,
  ]);
  // Defines each field: an assignment to `__proto__` would set the prototype.
  return Object.fromEntries([...Object.entries(base), ...merged]);
}

const isJsonObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === "object" && value !== null && !Array.isArray(value);

/** The error of a test event whose first attempt was not made in time. */
export const NOT_ATTEMPTED = "pending";

const PENDING: FirstAttempt = { delivered: false, status_code: null, duration_ms: 0, error: NOT_ATTEMPTED };

const READ_INTERVAL_MS = { first: 50, max: 500 };

interface WaitOptions {
  id: string;
  /** The wait ends when one of them aborts. */
  signals: readonly AbortSignal[];
  timeoutMs?: number;
}

/** Waits for the first attempt of an event. It holds no connection to the database between its statements. */
export async function awaitFirstAttempt(
  db: Database,
  clientId: string,
  { id, signals, timeoutMs = TEST_EVENT_WAIT_MS }: WaitOptions,
): Promise<FirstAttempt> {
  const ending = new AbortController();
  const end = () => ending.abort();
  const cancels = signals.map((signal) => onAbort(signal, end));
  if (signals.some(({ aborted }) => aborted)) end();
  const read = () => findFirstAttempt(db, clientId, id).catch(ignoreUnavailable);

  async function readUntilEnd(): Promise<FirstAttempt> {
    let found = await read();
    for (let delay = READ_INTERVAL_MS.first; !found && !ending.signal.aborted; ) {
      await pause(delay, ending.signal);
      found = await read();
      delay = Math.min(2 * delay, READ_INTERVAL_MS.max);
    }
    return found ?? PENDING;
  }

  try {
    return await withTimeout(timeoutMs, readUntilEnd(), () => PENDING);
  } finally {
    end();
    for (const cancel of cancels) cancel();
  }
}

/** The event is recorded, so a failed read must not be answered like a request that had no effect. */
function ignoreUnavailable(error: unknown): undefined {
  if (!(error instanceof DatabaseUnavailable)) throw error;
}
