-- Insights reports that clients started through Herald. The scheduler follows each one until it ends.
create table insights_reports (
  -- The ad platform's id of the report run.
  id text collate "C" primary key,
  client_id uuid not null references clients (id) on delete cascade,
  ad_account_id text not null,
  -- What the rows consist of, for the columns of a CSV file.
  fields text[] not null,
  breakdowns text[] not null,
  -- The run as it was last read. Type json, because jsonb rejects some texts of the platform.
  run json not null,
  read_at timestamptz not null default '-infinity',
  -- When the last read began: other requests wait for its result.
  read_started_at timestamptz not null default '-infinity',
  created_at timestamptz not null default now(),
  -- The run has ended, and its event is recorded.
  finished_at timestamptz,
  next_check_at timestamptz not null default now(),
  -- The scheduler that checks it at the moment.
  worker_id text collate "C",
  deaths smallint not null default 0
);

create index insights_reports_due on insights_reports (next_check_at) where finished_at is null;
create index insights_reports_client_id on insights_reports (client_id, ad_account_id);
create index insights_reports_created_at on insights_reports (created_at);
