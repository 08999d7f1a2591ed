-- Failures by cause. Failed messages are counted by the code of their error, failed deliveries by their last answer.

update messages
set error_code = substring(error from '^\{"code":"?([0-9a-z_]{1,64})"?[,}]')
where status = 'failed'
and error is not null;

update sends
set last_error_code = substring(last_error from '^\{"code":"?([0-9a-z_]{1,64})"?[,}]')
where last_error is not null;

-- Both have the columns by which failures are counted, so that a count reads no row of the tables. All of these are short but
-- the address, which has at most 2,100 characters: an entry of an index may have 2,700.
create index messages_failures on messages (client_id, failed_at) include (id, channel_id, error_code)
  where status = 'failed';
create index deliveries_failures on deliveries (client_id, failed_at)
  include (id, key, url, last_status_code, last_error)
  where state = 'failed';

-- These count the recent failures of all clients. Only statements that compare attempts use them: without statistics Postgres
-- would read the failures of all clients to count those of one.
drop index messages_failed_at;
create index messages_failed_at on messages (failed_at) where status = 'failed' and attempts >= 0;
drop index deliveries_failed_at;
create index deliveries_failed_at on deliveries (failed_at) where state = 'failed' and attempts >= 0;
