-- The person who gave the grant of a waiting signup: a data deletion erases the grant without opening it.
alter table embed_sessions
  add column grant_user_id text collate "C",
  add column granted_at timestamptz;

alter table data_deletions add column signups integer not null default 0;
