import { type Queryable, sql } from "../database/database.ts";

/** What is known of one translation of a template, as of a time. Null: nothing was said of it. */
export interface TemplateUpdate {
  client_id: string;
  waba_id: string;
  hsm_id: string;
  name: string;
  language: string;
  category: string | null;
  status: string | null;
  platform_status: string | null;
  reason: string | null;
  quality_score: string | null;
  updated_at: Date;
}

/** A client erased meanwhile has no templates; who erases one waits for the lock. Written in order, as others write them. */
const UPSERT = sql(`
  with news as (
    select *
    from json_to_recordset($1) as n (
      client_id uuid,
      waba_id text,
      hsm_id text,
      name text,
      language text,
      category text,
      status text,
      platform_status text,
      reason text,
      quality_score text,
      updated_at timestamptz
    )
  ),
  alive as (
    select id
    from clients
    where id in (select client_id from news)
    order by id
    for key share
  )
  insert into templates (
    client_id, waba_id, hsm_id, name, language, category, status, platform_status, reason, quality_score, updated_at
  )
  select
    n.client_id, n.waba_id, n.hsm_id, n.name, n.language, n.category, n.status, n.platform_status, n.reason,
    n.quality_score, n.updated_at
  from news n
  join alive a on a.id = n.client_id
  order by n.client_id, n.hsm_id
  on conflict (client_id, hsm_id) do update
  set
    waba_id = excluded.waba_id,
    name = excluded.name,
    language = excluded.language,
    category = coalesce(excluded.category, templates.category),
    status = coalesce(excluded.status, templates.status),
    platform_status = excluded.platform_status,
    reason = excluded.reason,
    quality_score = coalesce(excluded.quality_score, templates.quality_score),
    updated_at = excluded.updated_at
  where templates.updated_at <= excluded.updated_at`);

/** Over all clients: what is not older than what is known. No template of a client may stand twice in the list. */
export async function upsertTemplates(db: Queryable, updates: readonly TemplateUpdate[]): Promise<void> {
  await db.query(UPSERT, [JSON.stringify(updates)]);
}

/** What is told of a template apart from its status. */
export interface TemplateTraits {
  client_id: string;
  hsm_id: string;
  category: string | null;
  quality_score: string | null;
  at: Date;
}

/** The time of the row stays that of its status: a status that is told late must not be taken for an older one. */
const UPDATE_TRAITS = sql(`
  update templates t
  set
    category = coalesce(n.category, t.category),
    quality_score = coalesce(n.quality_score, t.quality_score)
  from json_to_recordset($1) as n (
    client_id uuid,
    hsm_id text,
    category text,
    quality_score text,
    at timestamptz
  )
  where t.client_id = n.client_id
  and t.hsm_id = n.hsm_id
  and t.updated_at <= n.at`);

/** Over all clients: of templates that are known. None of a client's may stand twice in the list. */
export async function updateTemplateTraits(db: Queryable, traits: readonly TemplateTraits[]): Promise<void> {
  await db.query(UPDATE_TRAITS, [JSON.stringify(traits)]);
}

export interface TemplateRef {
  client_id: string;
  hsm_id: string;
}

const FIND_STATUSES = sql(`
  select t.client_id, t.hsm_id, t.status
  from templates t
  join unnest($1::uuid[], $2::text[]) as w (client_id, hsm_id) using (client_id, hsm_id)
  where t.status is not null`);

/** Over all clients: of those of which it is known. */
export const findTemplateStatuses = (
  db: Queryable,
  refs: readonly TemplateRef[],
): Promise<(TemplateRef & { status: string })[]> =>
  db.query(FIND_STATUSES, [refs.map(({ client_id }) => client_id), refs.map(({ hsm_id }) => hsm_id)]);

const DELETE_NAMED = sql(`
  delete from templates
  where client_id = $1
  and waba_id = $2
  and name = $3
  and ($4::text is null or hsm_id = $4)`);

/** All translations of the name, or with `hsmId` the one. */
export async function deleteTemplates(
  db: Queryable,
  clientId: string,
  { wabaId, name, hsmId }: { wabaId: string; name: string; hsmId?: string | undefined },
): Promise<void> {
  await db.query(DELETE_NAMED, [clientId, wabaId, name, hsmId ?? null]);
}

const DELETE_OTHERS = sql(`
  delete from templates
  where client_id = $1
  and waba_id = $2
  and updated_at <= $3
  and hsm_id <> all($4)`);

/** These are all that there are, as of a time: the others are gone. */
export async function deleteOtherTemplates(
  db: Queryable,
  clientId: string,
  { wabaId, at, hsmIds }: { wabaId: string; at: Date; hsmIds: readonly string[] },
): Promise<void> {
  await db.query(DELETE_OTHERS, [clientId, wabaId, at, hsmIds]);
}
