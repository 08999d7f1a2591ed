-- Statistics by hour of acceptance (UTC). The scheduler computes each row in one statement from the messages or deliveries of
-- that hour. A row whose messages or deliveries were deleted keeps its figures.

create table message_stats (
  client_id uuid not null references clients (id) on delete cascade,
  start timestamptz not null,
  channel_id text collate "C" not null,
  accepted integer not null,
  sent integer not null,
  failed integer not null,
  unknown integer not null,
  waiting integer not null,
  primary key (client_id, start, channel_id),
  check (accepted = sent + failed + unknown + waiting)
);

create index message_stats_channel_id on message_stats (client_id, channel_id, start);
create index message_stats_start on message_stats (start);
-- Hours whose figures still change without a row in late_changes.
create index message_stats_open on message_stats (start) where waiting > 0 or unknown > 0;

create table event_stats (
  client_id uuid not null references clients (id) on delete cascade,
  start timestamptz not null,
  -- Empty for events without a key.
  key text not null,
  accepted integer not null,
  delivered integer not null,
  failed integer not null,
  skipped integer not null,
  waiting integer not null,
  primary key (client_id, start, key),
  check (accepted = delivered + failed + skipped + waiting)
);

create index event_stats_start on event_stats (start);
-- Hours whose figures still change without a row in late_changes.
create index event_stats_open on event_stats (start) where waiting > 0;

-- Messages and deliveries that changed although they were settled. The statement that changes them inserts a row; the
-- scheduler computes their hours again and deletes it. No unique key: two statements would wait for each other.
create table late_changes (
  client_id uuid not null,
  -- The id of the message or the event.
  id text collate "C" not null
);

-- All figures include at least the changes committed before rolled_up_to.
create table stats_progress (
  subject text primary key check (subject in ('messages', 'events')),
  rolled_up_to timestamptz not null
);

insert into stats_progress (subject, rolled_up_to)
values ('messages', now()), ('events', now());
