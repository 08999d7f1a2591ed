-- One row per tick of a cron job. Inserting it is the claim: several schedulers may run, each tick runs once.
create table cron_runs (
  job text not null,
  scheduled_at timestamptz not null,
  worker text not null,
  started_at timestamptz not null default now(),
  finished_at timestamptz,
  outcome text check (outcome in ('ok', 'failed')),
  error text,
  primary key (job, scheduled_at)
);

create index cron_runs_scheduled_at on cron_runs (scheduled_at);
