import { type Queryable, sql } from "../database/database.ts";

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
