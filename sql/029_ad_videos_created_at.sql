-- Retention finds old videos by their age.
create index ad_videos_created_at on ad_videos (created_at);
