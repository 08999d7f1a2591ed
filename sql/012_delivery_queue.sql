-- The rows are the truth of what must be told; what Redis has of them only says that there is something to do.

alter table deliveries
  -- When its id was last given to the queue; null: it must be given anew.
  add column enqueued_at timestamptz,
  -- Which life of Redis that was: what an earlier one was told is forgotten.
  add column queue_epoch text collate "C",
  -- Who has it in hand. Only the holder of the lease may say how the attempt ended.
  add column worker_id text collate "C",
  add column lease uuid,
  add column claimed_at timestamptz;

-- To be given to the queue once their time has come.
create index deliveries_due on deliveries (is_bulk, next_attempt_at)
  where enqueued_at is null and state in ('pending', 'retrying');

-- Given to the queue, and not taken up yet.
create index deliveries_queued on deliveries (is_bulk, queue_epoch, enqueued_at)
  where enqueued_at is not null and state in ('pending', 'retrying');

create index deliveries_in_flight on deliveries (worker_id, claimed_at)
  where state = 'in_flight';
