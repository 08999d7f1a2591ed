import { MAX_CLOCK_DIFFERENCE_MS, MAX_ID_WAIT_MS, MAX_INSERT_DELAY_MS } from "../../runtime/deadlines.ts";
import { MINUTE } from "../../runtime/durations.ts";
import { timeOfId } from "../../runtime/ids.ts";
import { textArray, timestampArray, uuidArray } from "../database/binary-arrays.ts";
import { type Queryable, sql } from "../database/database.ts";
import { DatabaseUnavailable } from "../database/faults.ts";
import { selectAliveClients } from "../tenants/clients.ts";
import type { DeliveryRef } from "./events.ts";

/** An event recorded more than this after it occurred is late. */
export const LATE_AFTER_MS = 5 * MINUTE;

/** Columns of a new event. */
export interface NewEvent {
  client_id: string;
  id: string;
  type: string;
  key: string | null;
  channel_id: string | null;
  ad_account_id: string | null;
  message_id: string | null;
  occurred_at: Date;
  is_late: boolean;
  payload: string;
  /** Identifies repetitions of the event; null for an event that cannot repeat. */
  fingerprint: string | null;
}

/** How the statement treated an event: due and the reasons to skip its delivery mean that it is recorded. */
type InsertOutcome = "due" | "disabled" | "not_configured" | "duplicate" | "deleted";

/** SQL: a number of milliseconds as an interval. */
const interval = (milliseconds: number): string => `interval '${milliseconds} milliseconds'`;

/**
 * SQL: the ids, made from $12 to $13, are not older or newer than the event stream expects of this transaction. With other
 * ids the statement does nothing.
 */
const HAS_EXPECTED_IDS = `$12::timestamptz >= now() - ${interval(MAX_ID_WAIT_MS + MAX_CLOCK_DIFFERENCE_MS)}
    and $13::timestamptz <= clock_timestamp() + ${interval(MAX_CLOCK_DIFFERENCE_MS)}`;

/** SQL: false, or a division by zero when the transaction is too old to insert events: the event stream may not wait for it. */
const IS_TOO_OLD = `(select 1 / (clock_timestamp() < now() + ${interval(MAX_INSERT_DELAY_MS)})::integer) = 0`;

/**
 * Spans all clients. Skips events of deleted clients.
 * Fingerprints are inserted in a fixed order: otherwise two such statements could deadlock.
 * Returns the outcomes as one text, in the order of the events: rows would take longer to read than to insert.
 */
const INSERT = sql(`
  with input as (
    select *
    from unnest(
      $1::uuid[], $2::text[], $3::text[], $4::text[], $5::text[], $6::text[], $7::text[], $8::timestamptz[],
      $9::boolean[], $10::text[], $11::uuid[]
    ) with ordinality as i (
      client_id,
      id,
      type,
      key,
      channel_id,
      ad_account_id,
      message_id,
      occurred_at,
      is_late,
      payload,
      fingerprint,
      place
    )
    where (select ${HAS_EXPECTED_IDS})
  ),
  ${selectAliveClients("select client_id from input")},
  fresh as (
    insert into event_fingerprints (client_id, fingerprint)
    select i.client_id, i.fingerprint
    from input i
    join alive a on a.id = i.client_id
    where i.fingerprint is not null
    order by i.client_id, i.fingerprint
    on conflict do nothing
    returning client_id, fingerprint
  ),
  judged as materialized (
    select
      i.*,
      case
        when ${IS_TOO_OLD} then null
        when a.id is null then 'deleted'
        when i.fingerprint is not null and f.fingerprint is null then 'duplicate'
        when i.key = any(c.disabled_keys) then 'disabled'
        when c.webhook_url is null then 'not_configured'
        else 'due'
      end as outcome
    from input i
    left join alive a on a.id = i.client_id
    left join webhook_configs c on c.client_id = i.client_id
    left join fresh f on f.client_id = i.client_id and f.fingerprint = i.fingerprint
  ),
  recorded as (
    insert into events (
      client_id, id, type, key, channel_id, ad_account_id, message_id, occurred_at, is_late, payload
    )
    select client_id, id, type, key, channel_id, ad_account_id, message_id, occurred_at, is_late, payload
    from judged
    where outcome in ('due', 'disabled', 'not_configured')
  ),
  to_deliver as (
    insert into deliveries (client_id, id, key, state, skip_reason, next_attempt_at)
    select
      client_id,
      id,
      key,
      case when outcome = 'due' then 'pending' else 'skipped' end,
      case when outcome <> 'due' then outcome end,
      case when outcome = 'due' then now() end
    from judged
    where outcome in ('due', 'disabled', 'not_configured')
  ),
  queued as (
    insert into delivery_queue (id, client_id)
    select id, client_id
    from judged
    where outcome = 'due'
  )
  select string_agg(outcome, ',' order by place) as outcomes
  from judged`);

/** An event that was not recorded before. */
export interface RecordedEvent extends DeliveryRef {
  /** True when its delivery is due now; false when it is skipped. */
  isDue: boolean;
}

/** The ids were made too long before the transaction, or with a wrong clock. Nothing was inserted. */
export class StaleIds extends DatabaseUnavailable {
  override name = "StaleIds";

  constructor() {
    super(new Error("the ids of events are older or newer than their transaction allows"));
  }
}

/** Returns the events that are new. `events` is not empty, ascends by id and has no fingerprint twice. Throws StaleIds. */
export async function insertEvents(db: Queryable, events: readonly NewEvent[]): Promise<RecordedEvent[]> {
  const timeAt = (place: number) => new Date(timeOfId((events.at(place) as NewEvent).id));
  const column = <Name extends keyof NewEvent>(name: Name) => events.map((event) => event[name]);
  const [row] = await db.query<{ outcomes: string | null }>(INSERT, [
    uuidArray(column("client_id")),
    textArray(column("id")),
    textArray(column("type")),
    textArray(column("key")),
    textArray(column("channel_id")),
    textArray(column("ad_account_id")),
    textArray(column("message_id")),
    timestampArray(column("occurred_at")),
    `{${column("is_late")}}`,
    textArray(column("payload")),
    uuidArray(column("fingerprint")),
    timeAt(0),
    timeAt(-1),
  ]);
  if (!row?.outcomes) throw new StaleIds();
  return toRecorded(events, row.outcomes.split(",") as InsertOutcome[]);
}

const NOT_RECORDED: readonly (InsertOutcome | undefined)[] = ["duplicate", "deleted", undefined];

const toRecorded = (events: readonly NewEvent[], outcomes: readonly InsertOutcome[]): RecordedEvent[] =>
  events.flatMap(({ client_id, id }, place) =>
    NOT_RECORDED.includes(outcomes[place])
      ? []
      : [{ clientId: client_id, id, isDue: outcomes[place] === "due" }],
  );

/** Fingerprints identify repetitions of events; insertEvents writes them. */

const FIND_FINGERPRINT = sql(`
  select 1 as one
  from event_fingerprints
  where client_id = $1
  and fingerprint = $2`);

export async function hasFingerprint(db: Queryable, clientId: string, fingerprint: string): Promise<boolean> {
  const rows = await db.query(FIND_FINGERPRINT, [clientId, fingerprint]);
  return rows.length > 0;
}

const DELETE_OLD_FINGERPRINTS = sql(`
  delete from event_fingerprints
  where ctid = any(array(
    select ctid
    from event_fingerprints
    where seen_at < now() - $1 * interval '1 millisecond'
    limit $2
  ))
  returning 1 as one`);

/**
 * Spans all clients: deletes up to `limit` fingerprints older than `maxAgeMs` milliseconds; returns how many.
 */
export async function deleteOldFingerprints(db: Queryable, maxAgeMs: number, limit: number): Promise<number> {
  const rows = await db.query(DELETE_OLD_FINGERPRINTS, [maxAgeMs, limit]);
  return rows.length;
}
