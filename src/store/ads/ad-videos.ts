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
