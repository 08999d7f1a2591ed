-- An OAuth state that was used: it is signed and needs no row before that, and none once it has expired.
create table oauth_states (
  id text collate "C" primary key,
  expires_at timestamptz not null
);

create index oauth_states_expires_at on oauth_states (expires_at);

-- A new grant is a new connection, so that a connection's id stands for its token; one that no account uses is deleted.
alter table ad_connections
  -- None: it never ends, as far as the platform has said.
  add column expires_at timestamptz,
  -- The least number of days of which its client was warned.
  add column warned_days integer,
  -- The tick of the token check that looked at it last.
  add column checked_in timestamptz;

create index ad_connections_checked_in on ad_connections (checked_in nulls first, id);

-- Since when the platform tells us of the account's changes; none: it is still to be asked to.
alter table ad_accounts
  add column subscribed_at timestamptz;

create index ad_accounts_client_id on ad_accounts (client_id, id);
