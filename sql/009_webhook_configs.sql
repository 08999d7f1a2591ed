-- Where a client's events go. A client that never configured anything has no row.
create table webhook_configs (
  -- The client's own.
  id uuid primary key constraint webhook_configs_client_id_fkey references clients (id) on delete cascade,
  webhook_url text,
  secret_sealed text,
  secret_last4 text,
  -- The token before a rotation: it signs too until its time is over.
  former_secret_sealed text,
  former_secret_until timestamptz,
  disabled_keys text[] not null default '{}'
);
