-- What happened and must be told, how far the telling is, and each try. The three are divided alike by the time in the
-- event's id, so that a day is dropped as a whole; what no partition is there for yet waits in the default one. No row
-- refers to clients by a constraint, whose check would cost a lookup per event: the statement that records them holds
-- the client, and erasing a client deletes them by name.

create table events (
  client_id uuid not null,
  id text collate "C" not null,
  type text not null,
  -- Null for a test of the bare address.
  key text,
  channel_id text collate "C",
  ad_account_id text,
  message_id text collate "C",
  occurred_at timestamptz not null,
  -- Recorded more than a few minutes after it occurred: only among these a list by time must look beyond the ids' own.
  is_late boolean not null,
  -- The body as it is sent, byte for byte. Not jsonb, which refuses what platforms do write.
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

create table deliveries (
  client_id uuid not null,
  -- The event's.
  id text collate "C" not null,
  state text not null check (
    state in ('skipped', 'pending', 'in_flight', 'retrying', 'delivered', 'failed', 'cancelled')
  ),
  skip_reason text check (skip_reason in ('disabled', 'not_configured')),
  attempts integer not null default 0,
  -- How many attempts there had been when the schedule began anew.
  schedule_base integer not null default 0,
  -- Replayed in bulk: such ones never delay fresh ones.
  is_bulk boolean not null default false,
  next_attempt_at timestamptz,
  last_status_code integer,
  last_error text,
  -- Where the last attempt went.
  url text,
  delivered_at timestamptz,
  primary key (client_id, id)
) partition by range (id);

create table deliveries_default partition of deliveries default;

-- By the word that tenants see.
create index deliveries_status on deliveries (
  client_id,
  (
    case
      when state in ('pending', 'in_flight', 'retrying') then 'pending'
      when state in ('skipped', 'cancelled') then 'skipped'
      else state
    end
  ),
  id
);

create table attempts (
  client_id uuid not null,
  -- The event's.
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

-- What came in before, so that the platform's repetitions are recorded once. Apart, for a unique key cannot span partitions.
create table event_fingerprints (
  client_id uuid not null,
  fingerprint uuid not null,
  seen_at timestamptz not null default now(),
  primary key (client_id, fingerprint)
);

create index event_fingerprints_seen_at on event_fingerprints using brin (seen_at);
