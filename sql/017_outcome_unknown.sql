-- Whether a failed message failed only because its outcome stayed unknown: a status webhook that comes later still moves it.
alter table messages add column outcome_unknown boolean not null default false;

update messages
set outcome_unknown = true
where status = 'failed'
and error like '%"code":"outcome_unknown"%';
