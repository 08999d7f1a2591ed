-- A tick that comes while a run of its job still goes on does not run, and says so.
alter table cron_runs
  drop constraint cron_runs_outcome_check,
  add constraint cron_runs_outcome_check check (outcome in ('ok', 'failed', 'overlapped'));

-- Of those that somebody died over, only a job's newest is run again.
update cron_runs r
set finished_at = now(), outcome = 'failed', error = 'abandoned'
where r.finished_at is null
and exists (
  select
  from cron_runs newer
  where newer.job = r.job
  and newer.finished_at is null
  and newer.scheduled_at > r.scheduled_at
);

-- A job has one run at a time, whoever runs it.
create unique index cron_runs_unfinished on cron_runs (job) where finished_at is null;
