import { firstIdAt } from "../../runtime/ids.ts";
import { type Queryable, sql } from "../database/database.ts";
import type { PageRequest } from "../database/paging.ts";

/** A message, and the state of its send while it has one. */
export interface MessageRow {
  id: string;
  channel_id: string;
  platform: string;
  recipient: string;
  recipient_kind: string;
  external_ref: string | null;
  /** The status shown to clients. */
  status: string;
  /** Start of the first attempt, while the message is not settled. */
  started_at: Date | null;
  timeline: { status: string; at: string }[];
  platform_message_id: string | null;
  error: string | null;
  attempts: number;
}

export interface MessageFilters {
  channel_id?: string;
  status?: string;
  to?: string;
  external_ref?: string;
  /** When the message was accepted; both bounds are inclusive. */
  since?: Date;
  until?: Date;
}

/**
 * SQL: true when the send `s`, which may be missing, was started. Stays true, because no status goes
 * backwards.
 */
const IS_STARTED = "s.state <> 'unknown' and s.started_at is not null";

/** Columns of a message `m` and its send `s`, which may be missing. */
export const MESSAGE_COLUMNS = `
    m.id, m.channel_id, m.platform, m.recipient, m.recipient_kind, m.external_ref,
    case when m.status = 'queued' and ${IS_STARTED} then 'sending' else m.status end as status,
    s.started_at, m.timeline, m.platform_message_id, m.error, coalesce(s.attempts, m.attempts) as attempts`;

const FIND = sql(`
  select ${MESSAGE_COLUMNS}
  from messages m
  left join sends s on s.client_id = m.client_id and s.id = m.id
  where m.client_id = $1
  and m.id = $2`);

export async function findMessage(
  db: Queryable,
  clientId: string,
  id: string,
): Promise<MessageRow | undefined> {
  const [row] = await db.query<MessageRow>(FIND, [clientId, id]);
  return row;
}

/** Sorts after every id. */
const MAX_ID = "\x7f";

type Bind = (value: unknown) => string;

interface MessageSearch {
  page: PageRequest;
  filters: MessageFilters;
}

/** Newest first, with one row more than the limit if there is one; `before` reads backwards. */
export function listMessages(db: Queryable, clientId: string, search: MessageSearch): Promise<MessageRow[]> {
  const { text, values } = listStatement(clientId, search);
  return db.query<MessageRow>(text, values);
}

/** Built and planned for the given filters; each filter has an index ordered by id. */
export function listStatement(clientId: string, { page, filters }: MessageSearch) {
  const values: unknown[] = [];
  const bind: Bind = (value) => `$${values.push(value)}`;
  const [client, limit] = [bind(clientId), bind(page.limit + 1)];
  const order = page.before === undefined ? "desc" : "asc";
  const conditions = [
    page.before === undefined ? `m.id < ${bind(page.after ?? MAX_ID)}` : `m.id > ${bind(page.before)}`,
    ...conditionsOf(filters, bind),
  ];
  const text = `
  select ${MESSAGE_COLUMNS}
  from (
    select *
    from messages m
    where m.client_id = ${client}
    and ${conditions.join("\n    and ")}
    order by m.id ${order}
    limit ${limit}
  ) m
  left join lateral (
    select state, attempts, started_at, sending_at
    from sends
    where client_id = m.client_id
    and id = m.id
    limit 1
  ) s on true
  order by m.id ${order}`;
  return { text, values };
}

function conditionsOf(filters: MessageFilters, bind: Bind): string[] {
  const { channel_id, to, external_ref, since, until } = filters;
  return [
    ...(channel_id === undefined ? [] : [`m.channel_id = ${bind(channel_id)}`]),
    ...(to === undefined ? [] : [`m.recipient = ${bind(to)}`]),
    ...(external_ref === undefined ? [] : [`m.external_ref = ${bind(external_ref)}`]),
    ...statusConditions(filters.status, bind),
    ...(since ? [`m.id >= ${bind(idAt(since.getTime()))}`] : []),
    ...(until ? [`m.id < ${bind(idAt(until.getTime() + 1))}`] : []),
  ];
}

/** A scalar subquery, looked up row by row: a join might read all sends. */
const HAS_STARTED_SEND = `coalesce((
      select ${IS_STARTED}
      from sends s
      where s.client_id = m.client_id
      and s.id = m.id
    ), false)`;

/** `sending` is derived from the send; the message itself is still `queued`. */
function statusConditions(status: string | undefined, bind: Bind): string[] {
  if (status === undefined) return [];
  if (status === "queued") return ["m.status = 'queued'", `not ${HAS_STARTED_SEND}`];
  if (status === "sending") return ["m.status = 'queued'", HAS_STARTED_SEND];
  return [`m.status = ${bind(status)}`];
}

/** Limits the time to the range that an id can encode. */
const idAt = (time: number) => firstIdAt("msg", Math.min(Math.max(time, 0), 2 ** 48 - 1));
