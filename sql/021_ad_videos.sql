-- Videos that a client registered through Herald. The ad platform does not say to which account a video belongs, so a video
-- is read only if it has a row here.
create table ad_videos (
  client_id uuid not null references clients (id) on delete cascade,
  ad_account_id text not null,
  video_id text collate "C" not null,
  created_at timestamptz not null default now(),
  primary key (client_id, ad_account_id, video_id)
);
