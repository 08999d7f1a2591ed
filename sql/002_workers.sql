-- Who is alive. A worker renews heartbeat_at every 2 s; one that is silent for 10 s is dead and what it held is due again.
create table workers (
  id text collate "C" primary key,
  process text not null,
  started_at timestamptz not null default now(),
  heartbeat_at timestamptz not null default now()
);

create index workers_heartbeat_at on workers (heartbeat_at);
