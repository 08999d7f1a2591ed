-- A send waits in its row only. Dispatchers claim the sends of one channel and batch at a time; a single message has the batch ''.

-- Sends that waited for the rate of their channel, or for its new token, are due.
update sends s
set next_attempt_at = now()
from channels c
where c.id = s.channel_id
and s.state = 'waiting'
and s.next_attempt_at > now()
and (s.attempts = 0 or s.slot_at is not null or c.status <> 'connected');

alter table sends drop constraint sends_state_check;

update sends
set
  state = 'waiting',
  worker_id = null,
  lease = null,
  claimed_at = null
where state = 'in_hand'
and sending_at is null;

-- claimed: a dispatcher has it. When sending_at is set, its request may have been written.
update sends
set state = 'claimed'
where state = 'in_hand';

alter table sends add constraint sends_state_check check (state in ('behind', 'waiting', 'claimed', 'unknown'));

drop index sends_queued;
drop index sends_due_by_channel;
drop index sends_in_hand;
drop index sends_suspect;
drop index sends_expires_at;

alter table sends
  drop column enqueued_at,
  drop column queue_epoch,
  drop column slot_at,
  add column batch_id text collate "C" not null default '';

create index sends_waiting on sends (channel_id, batch_id, next_attempt_at, place) where state = 'waiting' and deaths < 2;
-- A retry goes before the messages that were accepted later.
create index sends_retry on sends (channel_id, batch_id, next_attempt_at, place)
  where state = 'waiting' and deaths < 2 and attempts > 0;
-- Sends whose dispatchers died repeatedly are claimed one at a time.
create index sends_suspect on sends (channel_id, batch_id, next_attempt_at, place) where state = 'waiting' and deaths >= 2;
-- With the second condition only statements that compare expires_at use this index; a claim must not.
create index sends_expires_at on sends (expires_at) where state in ('behind', 'waiting') and expires_at is not null;
create index sends_claimed on sends (worker_id, claimed_at) where state = 'claimed';
