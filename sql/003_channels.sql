-- Channels and the templates of their business accounts.

-- A phone number, page or photo account through which a client exchanges messages with people. A disconnected channel keeps
-- its row for its history.
create table channels (
  client_id uuid not null references clients (id) on delete cascade,
  id text collate "C" not null,
  platform text not null check (platform in ('chatapp', 'photoapp', 'socialapp')),
  status text not null default 'connected' check (status in ('connected', 'needs_reauth', 'disconnected')),
  display_name text,
  waba_id text,
  phone_number_id text,
  display_phone_number text,
  page_id text,
  photoapp_user_id text,
  template_namespace text,
  external_ref text,
  token_sealed text,
  -- The person at the platform who granted the channel, if known: their deauthorization ends it.
  platform_user_id text,
  connected_at timestamptz not null default now(),
  -- When the token was granted: notices of the platform about an earlier token are ignored.
  granted_at timestamptz not null default now(),
  -- The platform's id of the number, page or photo account.
  asset_id text not null generated always as (
    case platform when 'chatapp' then phone_number_id when 'photoapp' then photoapp_user_id else page_id end
  ) stored,
  primary key (client_id, id),
  check (platform <> 'chatapp' or waba_id is not null),
  check (platform <> 'photoapp' or page_id is not null)
);

-- An asset has one owner over all clients, because webhooks name the asset only. A channel that needs a new token still owns
-- its asset.
create unique index channels_asset on channels (platform, asset_id) where status <> 'disconnected';
-- A dispatcher knows the id of a channel before its client.
create unique index channels_id on channels (id);
create index channels_waba_id on channels (waba_id) where status <> 'disconnected';
create index channels_platform_user_id on channels (platform_user_id) where platform_user_id is not null;

-- Templates as the chat platform last reported them, in replies and webhooks.
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
  -- The time of the report: an older report changes nothing.
  updated_at timestamptz not null default now(),
  primary key (client_id, hsm_id)
);

create index templates_name on templates (client_id, waba_id, name);
