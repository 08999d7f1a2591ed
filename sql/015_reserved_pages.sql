-- Postgres plans a statement for the size that its tables have at that moment. For a table of few pages it reads the table instead
-- of an index, and it keeps that plan while thousands of rows arrive. So both queues keep 128 pages when they are empty.
alter table delivery_queue set (vacuum_truncate = off);
alter table sends set (vacuum_truncate = off);

insert into delivery_queue (id, client_id, worker_id)
select 'reserved ' || number, '00000000-0000-0000-0000-000000000000', repeat('x', 1500)
from generate_series(1, 512) as number;

delete from delivery_queue
where id like 'reserved %';

insert into sends (client_id, id, channel_id, recipient, place, expires_at, last_error)
select '00000000-0000-0000-0000-000000000000', 'reserved ' || number, '', '', 0, now(), repeat('x', 1500)
from generate_series(1, 512) as number;

delete from sends
where id like 'reserved %';

-- In the order in which scheduled messages start: many may have the same time.
drop index sends_scheduled;
create index sends_scheduled on sends (next_attempt_at, place) where state = 'scheduled' and batch_id = '';
