import { type Database, sql } from "../database/database.ts";
import { isCancellable } from "../messages/lifecycle.ts";
import { fromSendsOf } from "./batches.ts";

/** Everything here spans all clients: it finds the batches whose status is to change. */

/** A change that a batch needs without a request; `channel`, `template` and `failures` are reasons to pause. */
export interface DueChange {
  client_id: string;
  id: string;
  change: "start" | "finish" | "cancel_rest" | "channel" | "template" | "failures";
  /** A batch that was resumed since is not paused for what happened before. */
  active_since: string;
  /** How many messages a start changes, counted up to MAX_COUNTED_MESSAGES; 0 for the other changes. */
  messages: number;
}

export const MAX_COUNTED_MESSAGES = 1_000;

/** The messages that were last sent or failed decide whether a batch pauses: how many of them, and how many at least. */
const JUDGED_MESSAGES = { max: 50, min: 20 };
/** The platform's answers that a template does not exist, is paused or is disabled. */
const TEMPLATE_REFUSALS = ["132001", "132015", "132016"];

/** `offset 0`: looked up for each batch. Without it Postgres may read the sends of all batches into a hash table. */
const hasSends = (condition: string) => `exists (
        select${fromSendsOf("b")}
        and ${condition}
        offset 0
      )`;

/**
 * SQL: true when the platform has reported that it no longer sends the template of the batch `b`. Languages have two spellings.
 * `collate`: that of the index of templates, which would otherwise be read for all names.
 */
const IS_TEMPLATE_STOPPED = `exists (
        select
        from templates t
        where b.template_name is not null
        and t.client_id = b.client_id
        and t.waba_id = c.waba_id
        and t.name = b.template_name collate "default"
        and replace(t.language, '-', '_') = replace(b.template_language, '-', '_')
        and t.platform_status in ('PAUSED', 'DISABLED', 'DELETED', 'PENDING_DELETION')
        and t.updated_at > b.active_since
      )`;

/**
 * SQL: how many of the last messages of the batch `b` were judged, and how many failed with their most frequent code. None are
 * read of a batch that does not run: in the condition of the join, its status would be compared after reading them.
 */
const JUDGED = `
    select
      coalesce(sum(n.count), 0) as total,
      coalesce(max(n.count) filter (where n.code is not null), 0) as failed_alike,
      coalesce(bool_or(n.code in (${TEMPLATE_REFUSALS.map((code) => `'${code}'`).join(", ")})), false) as is_refused
    from (
      select
        case when last.status = 'failed' and last.error_code ~ '^[0-9]' then split_part(last.error_code, '/', 1) end as code,
        count(*) as count
      from (
        select m.status, m.error_code
        from messages m
        where b.status = 'running'
        and m.client_id = b.client_id
        and m.batch_id = b.id
        and m.id between b.first_message_id and b.last_message_id
        and m.finished_at > b.active_since
        order by m.finished_at desc
        limit ${JUDGED_MESSAGES.max}
      ) last
      group by 1
    ) n`;

/** The messages that the start of the batch `d` changes. */
const COUNT_MESSAGES = `(
      select count(*)::integer
      from (
        select${fromSendsOf("d")}
        limit ${MAX_COUNTED_MESSAGES}
      ) counted
    )`;

/**
 * Reads one send of each unfinished batch, and up to 50 messages of each running one, by their indexes. `offset 0`: otherwise
 * the change would be computed again for each of its uses. `random()`: a run may end within a turn, and the next one lists anew.
 */
const LIST = sql(`
  select
    d.client_id,
    d.id,
    d.change,
    d.active_since,
    case when d.change = 'start' then ${COUNT_MESSAGES} else 0 end as messages
  from (
    select
      b.client_id,
      b.id,
      b.active_since::text as active_since,
      case
        when not ${hasSends("true")} then 'finish'
        when b.status in ('scheduled', 'running') and ${IS_TEMPLATE_STOPPED} then 'template'
        when b.status = 'scheduled' then case when b.send_at <= now() then 'start' end
        when b.status = 'cancelled' then case when ${hasSends(isCancellable("s"))} then 'cancel_rest' end
        when b.status = 'paused' then null
        when c.status is distinct from 'connected' then 'channel'
        when judged.is_refused then 'template'
        when judged.total >= ${JUDGED_MESSAGES.min} and 2 * judged.failed_alike > judged.total then 'failures'
      end as change
    from batches b
    left join channels c on c.client_id = b.client_id and c.id = b.channel_id
    left join lateral (${JUDGED}
    ) judged on true
    where b.finished_at is null
    offset 0
  ) d
  where d.change is not null
  order by d.change in ('start', 'finish', 'cancel_rest'), row_number() over (partition by d.client_id), random()
  limit $1`);

/**
 * Lists up to `limit` batches with the change that each of them needs first: pauses, which are urgent and quick, before the
 * others, in turn between the clients. The planner would sort all finished messages of a batch, because it expects few; and
 * compiling the plan would take longer than running it.
 */
export const listDueChanges = (db: Database, limit: number): Promise<DueChange[]> =>
  db.transaction(async (tx) => {
    await tx.query("set local enable_sort = off; set local jit = off");
    return tx.query<DueChange>(LIST, [limit]);
  });
