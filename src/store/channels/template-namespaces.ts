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
  /** It belongs to the business account, which a channel may have changed meanwhile. */
  wabaId: string;
  namespace: string;
}

/** What the platform calls the templates of a channel, where that was not known. */
export async function saveTemplateNamespace(
  db: Queryable,
  clientId: string,
  { channelId, wabaId, namespace }: TemplateNamespace,
): Promise<void> {
  await db.query(SET_IF_MISSING, [clientId, channelId, wabaId, namespace]);
}
