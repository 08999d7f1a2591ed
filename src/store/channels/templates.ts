import { type Queryable, sql } from "../database/database.ts";
import { selectAliveClients } from "../tenants/clients.ts";

/** State of one translation of a template at `updated_at`. Null fields were not reported. */
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

/** Skips deleted clients. Rows are written in a fixed order to avoid deadlocks. */
const UPSERT = sql(`
  with updates as (
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
  ${selectAliveClients("select client_id from updates")}
  insert into templates (
    client_id, waba_id, hsm_id, name, language, category, status, platform_status, reason, quality_score, updated_at
  )
  select
    n.client_id, n.waba_id, n.hsm_id, n.name, n.language, n.category, n.status, n.platform_status, n.reason,
    n.quality_score, n.updated_at
  from updates n
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

/**
 * Spans all clients: stores updates that are not older than the stored row. `updates` must not contain a
 * client's template twice.
 */
export async function upsertTemplates(db: Queryable, updates: readonly TemplateUpdate[]): Promise<void> {
  await db.query(UPSERT, [JSON.stringify(updates)]);
}

/** Properties of a template that the platform reports apart from its status. */
export interface TemplateTraits {
  client_id: string;
  hsm_id: string;
  category: string | null;
  quality_score: string | null;
  at: Date;
}

/** Keeps `updated_at`, the time of the status: a status that arrives late would otherwise look outdated. */
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

/** Spans all clients: updates known templates. `traits` must not contain a client's template twice. */
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

/** Spans all clients: returns the templates whose status is known. */
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
  and ($4::text is null or hsm_id = $4)
  returning language`);

/** Deletes all translations of the name, or only the one with `hsmId`; returns the languages of those that were stored. */
export async function deleteTemplates(
  db: Queryable,
  clientId: string,
  { wabaId, name, hsmId }: { wabaId: string; name: string; hsmId?: string | undefined },
): Promise<string[]> {
  const rows = await db.query<{ language: string }>(DELETE_NAMED, [clientId, wabaId, name, hsmId ?? null]);
  return rows.map(({ language }) => language);
}

const DELETE_OTHERS = sql(`
  delete from templates
  where client_id = $1
  and waba_id = $2
  and updated_at <= $3
  and hsm_id <> all($4)`);

/** Deletes templates that are missing from `hsmIds`, the complete list as of `at`. */
export async function deleteOtherTemplates(
  db: Queryable,
  clientId: string,
  { wabaId, at, hsmIds }: { wabaId: string; at: Date; hsmIds: readonly string[] },
): Promise<void> {
  await db.query(DELETE_OTHERS, [clientId, wabaId, at, hsmIds]);
}

const SET_IF_MISSING = sql(`
  update channels
  set template_namespace = $4
  where client_id = $1
  and id = $2
  and waba_id = $3
  and template_namespace is null`);

interface TemplateNamespace {
  channelId: string;
  /** The namespace belongs to this business account; the channel may have another one by now. */
  wabaId: string;
  namespace: string;
}

/** Stores the platform's template namespace of a channel that has none. */
export async function saveTemplateNamespace(
  db: Queryable,
  clientId: string,
  { channelId, wabaId, namespace }: TemplateNamespace,
): Promise<void> {
  await db.query(SET_IF_MISSING, [clientId, channelId, wabaId, namespace]);
}
