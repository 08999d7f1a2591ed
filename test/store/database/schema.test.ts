import t from "tap";
import { cloneDatabase, connectRawClient } from "../../fixtures/servers/servers.ts";

/** Tables without rows of tenants. */
const SHARED_TABLES = [
  "clients",
  "cron_runs",
  "data_deletions",
  "migrations",
  "oauth_states",
  "queue_hold",
  "stats_progress",
  "stream_generation",
  "terms_versions",
  "workers",
];

/** Unique indexes of tenants' tables that do not contain client_id, and why. */
const UNIQUE_OVER_ALL_CLIENTS: Record<string, string> = {
  ad_connections_pkey:
    "a dead token ends the connections of all clients that have it: statements name connections by id",
  api_keys_pkey: "the text of a key names the row before its client is known",
  channels_asset: "a webhook names the asset only, so an asset has one owner over all clients",
  channels_id: "a dispatcher finds the sends of a channel before it knows the client",
  delivery_queue_pkey:
    "outcomes of many clients are written by one statement, and each byte of the index is written twice per event",
  embed_sessions_pkey: "a person who signs up has the link and no credential of the client",
  embed_sessions_token_hash_key: "the hash of the link's token is all that a person's request contains",
  insights_reports_pkey: "the ad platform assigns the ids, and a run that another client started is refused",
  number_pins_pkey: "a phone number has one PIN at the platform, whichever client connects it",
  sessions_pkey: "a token names its session before the client is known",
  users_email: "a login gives an email and no client",
  users_pkey: "a token names its user, and may name no client",
};

interface UniqueIndex {
  table: string;
  index: string;
  columns: string[];
}

t.test("the tables of tenants", async (t) => {
  const client = await connectRawClient(t, await cloneDatabase(t));
  const { rows: tables } = await client.query<{ name: string; has_client: boolean }>(`
    select t.relname as name, exists (
        select
        from pg_attribute a
        where a.attrelid = t.oid
        and a.attname = 'client_id'
        and a.attnotnull
      ) as has_client
    from pg_class t
    where t.relnamespace = 'public'::regnamespace
    and t.relkind in ('r', 'p')
    and not t.relispartition`);
  const { rows: indexes } = await client.query<UniqueIndex>(`
    select t.relname as table, i.relname as index, array(
        select a.attname::text
        from pg_attribute a
        where a.attrelid = i.oid
      ) as columns
    from pg_index x
    join pg_class i on i.oid = x.indexrelid
    join pg_class t on t.oid = x.indrelid
    where x.indisunique
    and t.relnamespace = 'public'::regnamespace
    and not t.relispartition`);

  t.test("every table names the client of its rows, or has no rows of tenants", async (t) => {
    t.same(
      tables
        .filter(({ has_client }) => !has_client)
        .map(({ name }) => name)
        .sort(),
      SHARED_TABLES,
    );
  });

  t.test("every primary key and unique index contains client_id, or is listed with its reason", async (t) => {
    t.same(
      indexes
        .filter(({ table, columns }) => !SHARED_TABLES.includes(table) && !columns.includes("client_id"))
        .map(({ index }) => index)
        .sort(),
      Object.keys(UNIQUE_OVER_ALL_CLIENTS),
    );
    t.ok(
      indexes.some(({ index }) => index === "channels_pkey"),
      "the indexes are found",
    );
  });
});
