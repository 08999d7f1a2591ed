-- Due sends are found by channel, so that the sweep skips channels with many of them that cannot be sent now.
create index sends_due_by_channel on sends (channel_id, next_attempt_at) where state = 'waiting' and enqueued_at is null;
drop index sends_due;
-- A send is updated twice within milliseconds and then deleted: room in its page avoids a second entry in each index.
alter table sends set (fillfactor = 50);
