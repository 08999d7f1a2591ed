/** Tables of the peer that sends messages: messages with their status, and one history row per attempt. */
export const SEND_TABLES: readonly string[] = [
  `create table if not exists peer_channels (
    id text primary key,
    phone_number_id text not null,
    token text not null
  )`,
  `create table if not exists peer_messages (
    id text collate "C" primary key,
    channel_id text not null,
    recipient text not null,
    body text not null,
    status text not null default 'queued',
    platform_message_id text,
    created_at timestamptz not null default now()
  )`,
  `create index if not exists peer_messages_platform_message_id on peer_messages (platform_message_id)`,
  `create table if not exists peer_send_attempts (
    message_id text collate "C" not null,
    attempt integer not null,
    at timestamptz not null,
    status_code integer,
    duration_ms integer not null,
    primary key (message_id, attempt)
  )`,
];

/** What a job contains: the message too, so that the worker does not have to read it. */
export interface SendJob {
  id: string;
  channelId: string;
  to: string;
  body: string;
  /** Set once a slot of the channel's rate is reserved for it. */
  slotAt?: number;
}

export const SEND_QUEUE = "sends";
