-- An OAuth state that was used: it is signed and needs no row before that, and none once it has expired.
create table oauth_states (
  id text collate "C" primary key,
  expires_at timestamptz not null
);

create index oauth_states_expires_at on oauth_states (expires_at);

-- A new grant is a new connection, so that a connection's id stands for its token; one that no account uses is deleted.
alter table ad_connections
  -- SHA-256 of the token: the platform may give one out twice, and then it dies everywhere at once.
  add column token_hash text,
  -- None: it never ends, as far as the platform has said.
  add column expires_at timestamptz,
  -- The least number of days of which its client was warned.
  add column warned_days integer,
  -- The tick of the token check that looked at it last.
  add column checked_in timestamptz;

create index ad_connections_token_hash on ad_connections (token_hash);
create index ad_connections_checked_in on ad_connections (checked_in nulls first, id);

alter table ad_accounts
  -- Since when the platform tells us of the account's changes; none: it is still to be asked to.
  add column subscribed_at timestamptz,
  -- Since when the token does not reach it any more, although it lives: what is told of it is another's business.
  add column unreached_since timestamptz;

create index ad_accounts_client_id on ad_accounts (client_id, id);
