-- One row while an operator holds the queue: dispatchers then start no send and no delivery.
create table queue_hold (
  id boolean primary key default true check (id),
  since timestamptz not null default now()
);

-- When a message or a delivery failed for good, so that recent failures can be counted. The indexes contain failed rows
-- only. Rows that failed before this migration have no time and are not counted.
alter table messages add column failed_at timestamptz;

create index messages_failed_at on messages (failed_at) where status = 'failed';

alter table deliveries add column failed_at timestamptz;

create index deliveries_failed_at on deliveries (failed_at) where state = 'failed';
