-- What one person granted one client in the ad platform's dialog: the token that its ad accounts share.
create table ad_connections (
  id text collate "C" primary key,
  client_id uuid not null references clients (id) on delete cascade,
  platform_user_id text not null,
  token_sealed text not null,
  created_at timestamptz not null default now()
);

create index ad_connections_client_id on ad_connections (client_id, id);
create index ad_connections_platform_user_id on ad_connections (platform_user_id);

-- An ad account as one client sees it; several clients may hold the same one, each with a record and a connection of its own.
create table ad_accounts (
  id uuid primary key,
  client_id uuid not null references clients (id) on delete cascade,
  -- None after the person's data was erased.
  connection_id text collate "C" references ad_connections (id) on delete set null,
  ad_account_id text not null check (ad_account_id ~ '^act_[0-9]+$'),
  name text not null,
  currency text not null,
  timezone_name text not null,
  account_status integer not null,
  business_id text,
  business_name text,
  status text not null default 'available' check (status in ('available', 'active', 'disabled', 'revoked')),
  last_synced_at timestamptz not null default now(),
  created_at timestamptz not null default now(),
  unique (client_id, ad_account_id)
);

create index ad_accounts_ad_account_id on ad_accounts (ad_account_id);
create index ad_accounts_connection_id on ad_accounts (connection_id);
