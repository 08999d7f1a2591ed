-- Ad accounts, the grants that reach them, and what clients created through Herald.

-- OAuth states that were used. A state is signed, so it needs no row before its use and none after its expiry.
create table oauth_states (
  id text collate "C" primary key,
  expires_at timestamptz not null
);

create index oauth_states_expires_at on oauth_states (expires_at);

-- A grant of one person to one client in the ad platform's dialog, with the token that its ad accounts share. A new grant is a
-- new connection, so that a connection's id stands for its token; a connection that no account uses is deleted.
create table ad_connections (
  id text collate "C" primary key,
  client_id uuid not null references clients (id) on delete cascade,
  platform_user_id text not null,
  token_sealed text not null,
  -- SHA-256 of the token: the platform may issue one token twice, and then it dies in all connections at once.
  token_hash text,
  -- Null when the token never expires or the platform did not report its expiry.
  expires_at timestamptz,
  -- The least number of days before the expiry for which the client was warned.
  warned_days integer,
  -- The tick of the token check that checked the connection last.
  checked_in timestamptz,
  -- How many checks in a row began and did not end. A row with three deaths is quarantined by the next run.
  deaths smallint not null default 0,
  quarantined_at timestamptz,
  created_at timestamptz not null default now()
);

create index ad_connections_client_id on ad_connections (client_id, id);
create index ad_connections_platform_user_id on ad_connections (platform_user_id);
create index ad_connections_token_hash on ad_connections (token_hash);
create index ad_connections_checked_in on ad_connections (checked_in nulls first, id);
create index ad_connections_deaths on ad_connections (deaths) where deaths > 0;

-- An ad account as one client sees it. Several clients may have the same account, each with its own row and connection.
create table ad_accounts (
  client_id uuid not null references clients (id) on delete cascade,
  id uuid not null,
  -- Null when the token is dead or the person's data was erased.
  connection_id text collate "C" references ad_connections (id) on delete set null,
  ad_account_id text not null check (ad_account_id ~ '^act_[0-9]+$'),
  name text not null,
  currency text not null,
  timezone_name text not null,
  account_status integer not null,
  business_id text,
  business_name text,
  status text not null default 'available' check (status in ('available', 'active', 'disabled', 'revoked')),
  -- Since when the platform sends webhooks about the account; null when Herald has not subscribed to them.
  subscribed_at timestamptz,
  -- Since when the token no longer reaches the account, although it is valid: the client gets no webhooks about the account.
  unreached_since timestamptz,
  last_synced_at timestamptz not null default now(),
  created_at timestamptz not null default now(),
  primary key (client_id, id),
  unique (client_id, ad_account_id)
);

create index ad_accounts_ad_account_id on ad_accounts (ad_account_id);
create index ad_accounts_connection_id on ad_accounts (connection_id);

-- Videos that a client registered through Herald. The ad platform does not report the account of a video, so a video is read
-- only if it has a row here.
create table ad_videos (
  client_id uuid not null references clients (id) on delete cascade,
  ad_account_id text not null,
  video_id text collate "C" not null,
  created_at timestamptz not null default now(),
  primary key (client_id, ad_account_id, video_id)
);

create index ad_videos_created_at on ad_videos (created_at);

-- Insights reports that clients started through Herald. The scheduler follows each report until it ends.
create table insights_reports (
  -- The ad platform's id of the report run.
  id text collate "C" primary key,
  client_id uuid not null references clients (id) on delete cascade,
  ad_account_id text not null,
  -- The columns of a CSV file.
  fields text[] not null,
  breakdowns text[] not null,
  -- The run as it was last read. Type json, because jsonb rejects some texts of the platform.
  run json not null,
  read_at timestamptz not null default '-infinity',
  -- When the last read began: other requests wait for its result.
  read_started_at timestamptz not null default '-infinity',
  created_at timestamptz not null default now(),
  -- Set when the run has ended and its event is recorded.
  finished_at timestamptz,
  next_check_at timestamptz not null default now(),
  -- How many checks in a row began and did not end. A row with three deaths is quarantined by the next run.
  deaths smallint not null default 0,
  quarantined_at timestamptz
);

create index insights_reports_client_id on insights_reports (client_id, ad_account_id);
create index insights_reports_due on insights_reports (next_check_at) where finished_at is null;
create index insights_reports_created_at on insights_reports (created_at);
create index insights_reports_deaths on insights_reports (deaths) where deaths > 0;
