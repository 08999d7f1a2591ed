import { type Queryable, sql } from "../database/database.ts";

const KEEP = sql(`
  update channels
  set template_namespace = $4
  where client_id = $1
  and id = $2
  and waba_id = $3
  and template_namespace is null`);

interface Namespace {
  channelId: string;
  /** It belongs to the business account, which a channel may have changed meanwhile. */
  wabaId: string;
  namespace: string;
}

/** What the platform calls the templates of a channel, where that was not known. */
export async function keepTemplateNamespace(
  db: Queryable,
  clientId: string,
  { channelId, wabaId, namespace }: Namespace,
): Promise<void> {
  await db.query(KEEP, [clientId, channelId, wabaId, namespace]);
}
