import { type Queryable, sql } from "../database/database.ts";
import type { ChannelRecipient } from "./send-order.ts";

/** SQL: makes the messages of the CTE `started` queued. */
export const QUEUE_STARTED = `
  update messages m
  set
    status = 'queued',
    timeline = m.timeline || jsonb_build_array(jsonb_build_object('status', 'queued', 'at', now()))
  from started s
  where m.client_id = s.client_id
  and m.id = s.id
  and s.id like 'msg%' -- as a hint to look each message up, instead of reading those of all days
  and m.status = 'scheduled'`;

/** A constant of the statement: of a parameter Postgres would expect many rows, and read all sends to join them. */
export const MAX_STARTED_SENDS = 100;

/**
 * Places follow the order of the times. All become `behind`: whether an earlier message blocks one of them is decided by the
 * statement that releases sends.
 */
const START_DUE = sql(`
  with due as materialized (
    select d.row, nextval('sends_place_seq') as place
    from (
      select ctid as row
      from sends
      where state = 'scheduled'
      and batch_id = ''
      and next_attempt_at <= now()
      order by next_attempt_at, place
      limit ${MAX_STARTED_SENDS}
      for update skip locked
    ) d
  ),
  started as (
    update sends s
    set state = 'behind', place = d.place
    from due d
    where s.ctid = d.row
    returning s.client_id, s.id, s.channel_id, s.batch_id, s.recipient
  ),
  queued as (${QUEUE_STARTED}
  )
  select channel_id, batch_id, recipient
  from started`);

/** Spans all clients: lets some single messages wait for their turn whose time has come; returns their recipients. */
export const startDueSends = (tx: Queryable): Promise<ChannelRecipient[]> =>
  tx.query<ChannelRecipient>(START_DUE);
