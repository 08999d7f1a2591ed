-- deliveries keeps what clients see; what a dispatcher needs is in delivery_queue.
update deliveries
set state = case attempts when 0 then 'pending' else 'retrying' end
where state = 'in_flight';

drop index deliveries_due;
drop index deliveries_queued;
drop index deliveries_in_flight;
drop index deliveries_suspect;

alter table deliveries
  drop column schedule_base,
  drop column deaths,
  drop column enqueued_at,
  drop column queue_epoch,
  drop column worker_id,
  drop column lease,
  drop column claimed_at;
