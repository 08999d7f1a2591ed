-- A sign-in of a user. A token names its session: tokens of an ended session are refused for good. Ended and expired
-- rows stay for a while, because they prove that the user has signed in from the network before.
create table sessions (
  id text collate "C" primary key,
  client_id uuid not null references clients (id) on delete cascade,
  user_id text collate "C" not null references users (id) on delete cascade,
  created_at timestamptz not null,
  last_used_at timestamptz not null,
  expires_at timestamptz not null,
  ended_at timestamptz,
  -- Null for a token issued on the command line, like the network: the IPv4 address, or the /64 of an IPv6 address.
  address text,
  network text,
  user_agent text
);

create index sessions_client_id on sessions (client_id);
create index sessions_user_id on sessions (user_id, id);
create index sessions_network on sessions (user_id, network, created_at);
create index sessions_retention on sessions ((coalesce(ended_at, expires_at)));

-- The user who made the key; null for the command line. The name is for users of an identity provider, who have no row.
alter table api_keys
  add column created_by text collate "C",
  add column created_by_name text;

update api_keys k
set created_by = a.actor_id, created_by_name = a.actor_name
from audit_log a
where a.client_id = k.client_id
and a.actor_type = 'user'
and (
  (a.action = 'key.created' and a.target = k.id)
  or (a.action = 'key.rotated' and a.details ->> 'new_key' = k.id)
);
