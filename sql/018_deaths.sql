-- A row that kills its worker must not do so for ever. Each time a worker dies with the row claimed, the row counts a
-- death: from the second on it is processed alone, from the fifth on not at all.

alter table deliveries add column deaths smallint not null default 0;

create index deliveries_suspect on deliveries (next_attempt_at)
  where deaths >= 2 and state in ('pending', 'retrying');

alter table sends add column deaths smallint not null default 0;

create index sends_suspect on sends (next_attempt_at) where deaths >= 2;

alter table ad_connections
  add column deaths smallint not null default 0,
  -- The scheduler that checks it at the moment.
  add column worker_id text collate "C";
