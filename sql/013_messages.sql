-- What clients say to people, and how far each message has come. Divided by the time in its id, as events are. No row refers
-- to clients by a constraint: the statement that accepts messages holds the client, and erasing a client deletes them by name.
create table messages (
  client_id uuid not null,
  id text collate "C" not null,
  channel_id text collate "C" not null,
  platform text not null check (platform in ('chatapp', 'photoapp', 'socialapp')),
  recipient text collate "C" not null,
  recipient_kind text not null check (recipient_kind in ('phone', 'business_scoped', 'scoped_id')),
  type text not null,
  -- The object under its type, as JSON; not jsonb, which refuses what people do write.
  content text not null,
  -- What else was said of how to send it, as JSON: context, messaging_type, tag.
  options text,
  external_ref text,
  -- While it is still to be sent, what `sends` says of it counts too: one that was tried is `sending`.
  status text not null default 'queued' check (
    status in ('queued', 'accepted', 'sent', 'delivered', 'read', 'failed', 'unknown')
  ),
  -- Each status and when it was first reached, `queued` left out: [{"status": "accepted", "at": "..."}].
  timeline jsonb not null default '[]',
  platform_message_id text collate "C",
  -- Where pictures have no caption, it goes out as a message of its own after them.
  caption_message_id text collate "C",
  -- Why it failed, as JSON: code, title, message, details.
  error text,
  attempts integer not null default 0,
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

-- What is still to be sent, or was sent and nobody knows with what success. A row goes once that is settled.
create table sends (
  client_id uuid not null,
  -- The message's.
  id text collate "C" not null,
  channel_id text collate "C" not null,
  recipient text collate "C" not null,
  -- The order of acceptance, in which one person's messages go out. Ids do not tell: clocks differ.
  place bigint generated always as identity,
  -- behind: an earlier one to this person comes first. in_hand: a dispatcher has it. unknown: it may have reached the person,
  -- so it is never sent again.
  state text not null default 'waiting' check (state in ('behind', 'waiting', 'in_hand', 'unknown')),
  attempts integer not null default 0,
  -- When it is due; of an unknown one, until when word of it is waited for.
  next_attempt_at timestamptz not null default now(),
  -- Where the channel's rate made it wait: when its turn was to come.
  slot_at timestamptz,
  -- What could not be sent by then fails.
  expires_at timestamptz not null,
  -- Where a message is several requests: how many of them are done, and what they were known by.
  parts_sent integer not null default 0,
  platform_message_id text collate "C",
  -- Why the last attempt has to be repeated, as JSON.
  last_error text,
  -- When the request of the first attempt was written, and when that of the present one.
  started_at timestamptz,
  sending_at timestamptz,
  -- When its id was last given to the queue; null: it must be given anew. Which life of Redis that was.
  enqueued_at timestamptz,
  queue_epoch text collate "C",
  -- Who has it in hand. Only the holder of the lease may say how it ended.
  worker_id text collate "C",
  lease uuid,
  claimed_at timestamptz,
  primary key (client_id, id)
);

create index sends_place on sends (channel_id, recipient, place);
create index sends_behind on sends (channel_id, recipient, place) where state = 'behind';
create index sends_due on sends (next_attempt_at) where state = 'waiting' and enqueued_at is null;
create index sends_queued on sends (queue_epoch, enqueued_at) where state = 'waiting' and enqueued_at is not null;
create index sends_expires_at on sends (expires_at) where state in ('behind', 'waiting');
create index sends_in_hand on sends (worker_id, claimed_at) where state = 'in_hand';
create index sends_unknown on sends (next_attempt_at) where state = 'unknown';

-- Operations that were named by their caller, so that a repetition gets the first answer.
create table idempotency_keys (
  -- Made from the client, the route and the key.
  id uuid primary key,
  client_id uuid not null,
  -- Of the body: the same key with another one is a mistake.
  fingerprint uuid not null,
  reply_sealed text not null,
  created_at timestamptz not null default now()
);

create index idempotency_keys_created_at on idempotency_keys using brin (created_at);

-- What is known of the templates at the chat platform, by what it answered and told: the platform itself is the truth.
create table templates (
  client_id uuid not null references clients (id) on delete cascade,
  waba_id text not null,
  hsm_id text collate "C" not null,
  name text not null,
  language text not null,
  category text,
  status text check (status in ('PENDING', 'APPROVED', 'REJECTED')),
  platform_status text,
  reason text,
  quality_score text,
  -- As of when; what is older changes nothing.
  updated_at timestamptz not null default now(),
  primary key (client_id, hsm_id)
);

create index templates_name on templates (client_id, waba_id, name);
