-- Outbound messages. messages has partitions by the time in the id, as events has. Neither table has a foreign key to clients:
-- the statement that accepts messages locks the client, and deleting a client deletes its rows in each table.

create table messages (
  client_id uuid not null,
  id text collate "C" not null,
  channel_id text collate "C" not null,
  platform text not null check (platform in ('chatapp', 'photoapp', 'socialapp')),
  recipient text collate "C" not null,
  recipient_kind text not null check (recipient_kind in ('phone', 'business_scoped', 'scoped_id')),
  type text not null,
  -- JSON of the object under the type. Not jsonb, which rejects some texts of people.
  content text not null,
  -- JSON of context, messaging_type and tag.
  options text,
  external_ref text,
  -- The request that the message was accepted with.
  request_id text,
  -- While a row of sends exists, it determines the status too: an attempted message is `sending`.
  status text not null default 'queued' check (
    status in ('queued', 'accepted', 'sent', 'delivered', 'read', 'failed', 'unknown')
  ),
  -- Each status except `queued` with the time when it was first reached: [{"status": "accepted", "at": "..."}].
  timeline jsonb not null default '[]',
  platform_message_id text collate "C",
  -- On platforms whose images have no caption, the caption is a second message.
  caption_message_id text collate "C",
  -- JSON of code, title, message and details of the failure.
  error text,
  attempts integer not null default 0,
  -- Attempts at the platform, oldest first. error is JSON in a string, because jsonb rejects some texts of platforms:
  -- [{"attempt": 1, "at": "...", "outcome": "accepted", "status_code": 200, "duration_ms": 45, "error": null}].
  platform_attempts jsonb not null default '[]',
  -- The message failed although it may have reached the person.
  outcome_unknown boolean not null default false,
  failed_at timestamptz,
  primary key (client_id, id)
) partition by range (id);

create table messages_default partition of messages default;

create index messages_channel_id on messages (client_id, channel_id, id);
create index messages_recipient on messages (client_id, recipient, id);
create index messages_external_ref on messages (client_id, external_ref, id) where external_ref is not null;
create index messages_status on messages (client_id, status, id);
create index messages_platform_message_id on messages (client_id, platform_message_id)
  where platform_message_id is not null;
create index messages_caption_message_id on messages (client_id, caption_message_id)
  where caption_message_id is not null;
-- Counts recent failures.
create index messages_failed_at on messages (failed_at) where status = 'failed';

-- Messages that are still to be sent, or whose outcome is awaited. A row is deleted when its message is settled. Dispatchers
-- claim rows of one channel and batch at a time.
create table sends (
  client_id uuid not null,
  -- The id of the message.
  id text collate "C" not null,
  channel_id text collate "C" not null,
  recipient text collate "C" not null,
  -- Empty for a message that was not accepted in a batch.
  batch_id text collate "C" not null default '',
  -- The order of acceptance, in which the messages to one person are sent. Ids do not give it, because clocks differ.
  place bigint generated always as identity,
  -- behind: an earlier message to this person is sent first. waiting: a dispatcher may claim it when next_attempt_at has
  -- passed. claimed: a dispatcher has it; when sending_at is set, its request may have been written.
  -- unknown: it may have reached the person, so it is never sent again.
  state text not null default 'waiting' check (state in ('behind', 'waiting', 'claimed', 'unknown')),
  attempts integer not null default 0,
  -- When the send is due; in the state unknown, until when its outcome is awaited.
  next_attempt_at timestamptz not null default now(),
  -- A message that is not sent by then fails.
  expires_at timestamptz not null,
  -- For a message of several requests: how many were accepted, and the platform's id of the first.
  parts_sent integer not null default 0,
  platform_message_id text collate "C",
  -- JSON of the error after which the send is attempted again.
  last_error text,
  -- When the request of the first attempt was written, and that of the current attempt.
  started_at timestamptz,
  sending_at timestamptz,
  -- Set while the row is claimed. Only the holder of the lease may write the outcome.
  worker_id text collate "C",
  lease uuid,
  claimed_at timestamptz,
  -- How many dispatchers died with the row claimed. From the second death on the row is claimed alone, from the fifth on not
  -- at all.
  deaths smallint not null default 0,
  primary key (client_id, id)
  -- A send is updated twice within milliseconds and then deleted: free space in its page avoids new index entries.
) with (fillfactor = 50);

create index sends_place on sends (channel_id, recipient, place);
create index sends_behind on sends (channel_id, recipient, place) where state = 'behind';
create index sends_waiting on sends (channel_id, batch_id, next_attempt_at, place) where state = 'waiting' and deaths < 2;
-- A retry goes before the messages that were accepted later.
create index sends_retry on sends (channel_id, batch_id, next_attempt_at, place)
  where state = 'waiting' and deaths < 2 and attempts > 0;
-- Sends whose dispatchers died repeatedly are claimed one at a time.
create index sends_suspect on sends (channel_id, batch_id, next_attempt_at, place) where state = 'waiting' and deaths >= 2;
-- With the second condition only statements that compare expires_at use this index; a claim must not.
create index sends_expires_at on sends (expires_at) where state in ('behind', 'waiting') and expires_at is not null;
create index sends_claimed on sends (worker_id, claimed_at) where state = 'claimed';
create index sends_unknown on sends (next_attempt_at) where state = 'unknown';
