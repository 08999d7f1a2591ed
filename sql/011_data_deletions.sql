-- People who asked the platform that we erase what we know of them. Who it was is part of what was erased.
create table data_deletions (
  confirmation_code text primary key,
  connections integer not null,
  channels integer not null,
  erased_at timestamptz not null default now()
);
