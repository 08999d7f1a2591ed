-- People who sign in to the console. An email names one person over all clients, because it is all that a login says.
create table users (
  id text collate "C" primary key,
  client_id uuid not null references clients (id) on delete cascade,
  email text not null check (email <> ''),
  name text not null check (name <> ''),
  role text not null check (role in ('owner', 'admin', 'member', 'viewer')),
  enabled boolean not null default true,
  password_hash text not null,
  -- Tokens issued before are refused; set by a change of the password.
  tokens_valid_from timestamptz,
  last_login_at timestamptz,
  created_at timestamptz not null default now()
);

create unique index users_email on users (lower(email));
create index users_client_id on users (client_id, id);
