-- Events and their delivery to the client's backend. events, deliveries and attempts have the same partitions by the time in
-- the event's id, so that a day is dropped as a whole; rows for which no partition exists yet are in the default partition.
-- These tables have no foreign key to clients, whose check would cost a lookup per event: the statement that inserts events
-- locks the client, and deleting a client deletes its rows in each table.

create table events (
  client_id uuid not null,
  id text collate "C" not null,
  type text not null,
  -- Null for a test of a URL that is not configured.
  key text,
  channel_id text collate "C",
  ad_account_id text,
  message_id text collate "C",
  occurred_at timestamptz not null,
  -- Recorded more than a few minutes after it occurred. Lists by time search these events separately: their ids do not show
  -- when they occurred.
  is_late boolean not null,
  -- The body of the delivery, byte for byte. Not jsonb, which rejects some texts of platforms.
  payload text not null,
  primary key (client_id, id)
) partition by range (id);

create table events_default partition of events default;

create index events_key on events (client_id, key, id);
create index events_type on events (client_id, type, id);
create index events_channel_id on events (client_id, channel_id, id) where channel_id is not null;
create index events_message_id on events (client_id, message_id, id) where message_id is not null;
create index events_late on events (client_id, occurred_at, id) include (key, type, channel_id, message_id)
  where is_late;

-- The delivery of each event as clients see it. What a dispatcher needs is in delivery_queue.
create table deliveries (
  client_id uuid not null,
  -- The id of the event.
  id text collate "C" not null,
  -- The key of the event, so that deliveries are counted by key without reading events.
  key text,
  state text not null check (state in ('skipped', 'pending', 'retrying', 'delivered', 'failed', 'cancelled')),
  skip_reason text check (skip_reason in ('disabled', 'not_configured')),
  attempts integer not null default 0,
  -- Replayed in bulk.
  is_bulk boolean not null default false,
  next_attempt_at timestamptz,
  last_status_code integer,
  last_error text,
  -- The URL of the last attempt.
  url text,
  delivered_at timestamptz,
  failed_at timestamptz,
  primary key (client_id, id)
) partition by range (id);

create table deliveries_default partition of deliveries default;

-- By the status that the API shows.
create index deliveries_status on deliveries (
  client_id,
  (
    case
      when state in ('pending', 'retrying') then 'pending'
      when state in ('skipped', 'cancelled') then 'skipped'
      else state
    end
  ),
  id
);

-- Counts recent failures.
create index deliveries_failed_at on deliveries (failed_at) where state = 'failed';

create table attempts (
  client_id uuid not null,
  -- The id of the event.
  id text collate "C" not null,
  attempt integer not null,
  at timestamptz not null,
  status_code integer,
  duration_ms integer not null,
  error text,
  response_excerpt text,
  primary key (client_id, id, attempt)
) partition by range (id);

create table attempts_default partition of attempts default;

-- Deliveries that are still to be made. A row waits (worker_id is null; it is due when due_at has passed) or is claimed by a
-- dispatcher, and is deleted when the delivery ends. Dispatchers claim rows of one client and lane (is_bulk) at a time.
create table delivery_queue (
  -- The id of the event, unique over all clients.
  id text collate "C" primary key,
  client_id uuid not null,
  -- Replayed in bulk: such rows never delay fresh ones.
  is_bulk boolean not null default false,
  due_at timestamptz not null default now(),
  attempts integer not null default 0,
  -- The attempts that had been made when the retry schedule was restarted.
  schedule_base integer not null default 0,
  -- How many dispatchers died with the row claimed. From the second death on the row is claimed alone, from the fifth on not
  -- at all.
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

-- Fingerprints of received events, so that an event that the platform repeats is recorded once. A table of its own, because
-- a unique key of events would have to contain the id.
create table event_fingerprints (
  client_id uuid not null,
  fingerprint uuid not null,
  seen_at timestamptz not null default now(),
  primary key (client_id, fingerprint)
);

create index event_fingerprints_seen_at on event_fingerprints using brin (seen_at);
