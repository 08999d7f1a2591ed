import { type Queryable, sql } from "../database/database.ts";

export interface WebhookConfigRow {
  client_id: string;
  webhook_url: string | null;
  secret_sealed: string | null;
  /** Last four characters, so that showing the configuration does not open the secret. */
  secret_last4: string | null;
  former_secret_sealed: string | null;
  former_secret_until: Date | null;
  disabled_keys: string[];
  /** Whether deliveries carry the token in x-webhook-token. */
  token_header: boolean;
}

const COLUMNS =
  "client_id, webhook_url, secret_sealed, secret_last4, former_secret_sealed, former_secret_until, disabled_keys, token_header";

const FIND = sql(`
  select ${COLUMNS}
  from webhook_configs
  where client_id = $1`);

const LIST_URLS = sql(`
  select client_id, webhook_url
  from webhook_configs
  where client_id = any($1)
  and webhook_url is not null`);

/** Spans all clients: the addresses of these clients' backends. */
export const listWebhookUrls = (
  db: Queryable,
  clientIds: readonly string[],
): Promise<{ client_id: string; webhook_url: string }[]> =>
  clientIds.length === 0 ? Promise.resolve([]) : db.query(LIST_URLS, [clientIds]);

/** Locks the client, because its configuration may have no row yet. Its events can still be recorded. */
const LOCK_CLIENT = sql(`
  select id
  from clients
  where id = $1
  for no key update`);

/** Locks the row too, because key rotation does not lock the client. */
const LOCK = sql(`
  select ${COLUMNS}
  from webhook_configs
  where client_id = $1
  for update`);

const SAVE = sql(`
  insert into webhook_configs (${COLUMNS})
  values ($1, $2, $3, $4, $5, $6, $7, $8)
  on conflict (client_id) do update
  set
    webhook_url = excluded.webhook_url,
    secret_sealed = excluded.secret_sealed,
    secret_last4 = excluded.secret_last4,
    former_secret_sealed = excluded.former_secret_sealed,
    former_secret_until = excluded.former_secret_until,
    disabled_keys = excluded.disabled_keys,
    token_header = excluded.token_header`);

const emptyWebhookConfig = (clientId: string): WebhookConfigRow => ({
  client_id: clientId,
  webhook_url: null,
  secret_sealed: null,
  secret_last4: null,
  former_secret_sealed: null,
  former_secret_until: null,
  disabled_keys: [],
  token_header: true,
});

/** Returns an empty configuration for a client that never configured one. */
export async function findWebhookConfig(db: Queryable, clientId: string): Promise<WebhookConfigRow> {
  const [row] = await db.query<WebhookConfigRow>(FIND, [clientId]);
  return row ?? emptyWebhookConfig(clientId);
}

/**
 * Locks the configuration until the transaction ends, so that concurrent changes do not overwrite each other.
 */
export async function lockWebhookConfig(tx: Queryable, clientId: string): Promise<WebhookConfigRow> {
  await tx.query(LOCK_CLIENT, [clientId]);
  const [row] = await tx.query<WebhookConfigRow>(LOCK, [clientId]);
  return row ?? emptyWebhookConfig(clientId);
}

/** Writes the whole configuration, which the transaction must have locked. */
export async function saveWebhookConfig(
  tx: Queryable,
  clientId: string,
  row: Omit<WebhookConfigRow, "client_id">,
): Promise<void> {
  await tx.query(SAVE, [
    clientId,
    row.webhook_url,
    row.secret_sealed,
    row.secret_last4,
    row.former_secret_sealed,
    row.former_secret_until,
    row.disabled_keys,
    row.token_header,
  ]);
}
