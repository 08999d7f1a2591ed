-- The deliveries that are still to be made. A row exists while its event is to be delivered: it waits (worker_id is null; it
-- is due when due_at has passed) or is claimed by a dispatcher, and is deleted when the delivery ends. Dispatchers claim rows
-- of one client and lane (is_bulk) at a time. The id alone is the key: ids of events are unique over all clients.
create table delivery_queue (
  id text collate "C" primary key,
  client_id uuid not null,
  -- Replayed in bulk: such rows never delay fresh ones.
  is_bulk boolean not null default false,
  due_at timestamptz not null default now(),
  attempts integer not null default 0,
  -- The attempts that had been made when the retry schedule was restarted.
  schedule_base integer not null default 0,
  -- How many dispatchers died with the row claimed.
  deaths smallint not null default 0,
  -- Set while the row is claimed. Only the holder of the lease may write the outcome.
  worker_id text collate "C",
  lease uuid,
  claimed_at timestamptz
) with (
  fillfactor = 70,
  autovacuum_vacuum_scale_factor = 0.05,
  autovacuum_vacuum_threshold = 5000,
  autovacuum_vacuum_insert_threshold = -1
);

create index delivery_queue_due on delivery_queue (is_bulk, client_id, due_at) where worker_id is null;
create index delivery_queue_leased on delivery_queue (worker_id, claimed_at) where worker_id is not null;
create index delivery_queue_suspect on delivery_queue (due_at) where deaths >= 2 and worker_id is null;

insert into delivery_queue (id, client_id, is_bulk, due_at, attempts, schedule_base, deaths)
select id, client_id, is_bulk, coalesce(next_attempt_at, now()), attempts, schedule_base, deaths
from deliveries
where state in ('pending', 'in_flight', 'retrying');
