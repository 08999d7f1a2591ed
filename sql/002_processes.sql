-- Herald's own processes: which are alive, which cron jobs ran, whether the queue is held.

-- A worker renews heartbeat_at every 2 s. A worker without a heartbeat for 10 s is dead, and others reclaim its rows.
create table workers (
  id text collate "C" primary key,
  process text not null,
  started_at timestamptz not null default now(),
  heartbeat_at timestamptz not null default now()
);

create index workers_heartbeat_at on workers (heartbeat_at);

-- One row per tick of a cron job. Inserting the row claims the tick: several schedulers may run, and each tick runs once.
create table cron_runs (
  job text not null,
  scheduled_at timestamptz not null,
  worker text not null,
  started_at timestamptz not null default now(),
  finished_at timestamptz,
  -- overlapped: the tick did not run, because the previous run of its job had not finished.
  outcome text check (outcome in ('ok', 'failed', 'overlapped')),
  error text,
  primary key (job, scheduled_at)
);

create index cron_runs_scheduled_at on cron_runs (scheduled_at);
-- A job has one unfinished run, whichever scheduler runs it.
create unique index cron_runs_unfinished on cron_runs (job) where finished_at is null;

-- One row while an operator holds the queue: dispatchers then start no send and no delivery.
create table queue_hold (
  id boolean primary key default true check (id),
  since timestamptz not null default now()
);
