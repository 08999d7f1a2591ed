-- A phone number, page or photo account through which a client speaks with people. A disconnected one stays, for its history.
create table channels (
  id text collate "C" primary key,
  client_id uuid not null references clients (id) on delete cascade,
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
  -- The person at the platform who granted it, where known: their deauthorization ends it.
  platform_user_id text,
  connected_at timestamptz not null default now(),
  -- When its token was given: what the platform says of an earlier one is old news.
  granted_at timestamptz not null default now(),
  -- What it speaks for.
  asset_id text not null generated always as (
    case platform when 'chatapp' then phone_number_id when 'photoapp' then photoapp_user_id else page_id end
  ) stored,
  check (platform <> 'chatapp' or waba_id is not null),
  check (platform <> 'photoapp' or page_id is not null)
);

-- What comes in for it must have one owner over all clients; who has lost the token only is still the owner.
create unique index channels_asset on channels (platform, asset_id) where status <> 'disconnected';
create index channels_client_id on channels (client_id, id);
create index channels_waba_id on channels (waba_id) where status <> 'disconnected';
create index channels_platform_user_id on channels (platform_user_id) where platform_user_id is not null;
