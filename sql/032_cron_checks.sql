-- A row that a job checks counts a death when its check begins and has none when the check ends. The scheduler's id is not
-- needed for that. A row with three deaths is quarantined by the next run, which logs it.
alter table ad_connections
  drop column worker_id,
  add column quarantined_at timestamptz;

update ad_connections
set deaths = 0
where deaths > 0;

create index ad_connections_deaths on ad_connections (deaths) where deaths > 0;

alter table insights_reports
  drop column worker_id,
  add column quarantined_at timestamptz;

update insights_reports
set deaths = 0
where deaths > 0;

create index insights_reports_deaths on insights_reports (deaths) where deaths > 0;
