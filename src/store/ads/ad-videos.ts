import { DAY } from "../../runtime/durations.ts";
import { type Queryable, sql } from "../database/database.ts";

export interface AdVideoRef {
  /** Includes the `act_` prefix. */
  adAccountId: string;
  videoId: string;
}

const INSERT = sql(`
  insert into ad_videos (client_id, ad_account_id, video_id)
  values ($1, $2, $3)
  on conflict do nothing`);

/** Records a video that the client registered in the account. */
export async function insertAdVideo(
  db: Queryable,
  clientId: string,
  { adAccountId, videoId }: AdVideoRef,
): Promise<void> {
  await db.query(INSERT, [clientId, adAccountId, videoId]);
}

const EXISTS = sql(`
  select video_id
  from ad_videos
  where client_id = $1
  and ad_account_id = $2
  and video_id = $3`);

/** True when the client registered the video in the account. */
export async function hasAdVideo(
  db: Queryable,
  clientId: string,
  { adAccountId, videoId }: AdVideoRef,
): Promise<boolean> {
  const rows = await db.query(EXISTS, [clientId, adAccountId, videoId]);
  return rows.length > 0;
}

/** The platform has processed a video long before; afterwards the client refers to it in creatives only. */
export const AD_VIDEO_RETENTION_MS = 90 * DAY;

const DELETE_OLD = sql(`
  delete from ad_videos
  where (client_id, ad_account_id, video_id) in (
    select client_id, ad_account_id, video_id
    from ad_videos
    where created_at < now() - $1 * interval '1 ms'
    limit $2
  )
  returning 1 as one`);

/** Spans all clients. Returns how many were deleted; the videos stay at the platform. */
export async function deleteOldAdVideos(db: Queryable, ageMs: number, limit: number): Promise<number> {
  return (await db.query(DELETE_OLD, [ageMs, limit])).length;
}
