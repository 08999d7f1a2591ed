-- Who did what from where. Written in the transaction of the deed itself, never changed.
create table audit_log (
  id text collate "C" primary key,
  client_id uuid not null references clients (id) on delete cascade,
  at timestamptz not null default now(),
  actor_type text not null check (actor_type in ('user', 'api_key', 'operator', 'service')),
  actor_id text not null,
  actor_name text not null,
  action text not null,
  target text,
  address text,
  request_id text,
  details jsonb not null
);

create index audit_log_client_id on audit_log (client_id, id);
