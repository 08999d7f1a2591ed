-- A client's keys. The first part of a key's text names the row, the second is the secret, of which only the SHA-256 is kept.
create table api_keys (
  id text collate "C" primary key,
  client_id uuid not null references clients (id) on delete cascade,
  name text not null check (name <> ''),
  prefix text not null,
  last4 text not null,
  secret_hash bytea not null check (length(secret_hash) = 32),
  scopes text[] not null,
  created_at timestamptz not null default now(),
  expires_at timestamptz,
  last_used_at timestamptz,
  revoked_at timestamptz,
  -- The key that a rotation made in its place.
  replaced_by text collate "C"
);

create index api_keys_client_id on api_keys (client_id, id);
