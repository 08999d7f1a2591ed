import { DAY } from "../../runtime/durations.ts";
import { type Queryable, sql } from "../database/database.ts";
import { END_CHECK } from "../processes/row-checks.ts";

export interface ReportRow {
  /** The ad platform's id of the report run. */
  id: string;
  client_id: string;
  /** Includes the `act_` prefix. */
  ad_account_id: string;
  fields: string[];
  breakdowns: string[];
  created_at: Date;
}

/** Columns of a report `r`. */
export const REPORT_COLUMNS = "r.id, r.client_id, r.ad_account_id, r.fields, r.breakdowns, r.created_at";

export interface NewReport {
  id: string;
  adAccountId: string;
  fields: readonly string[];
  breakdowns: readonly string[];
  run: object;
}

/** The platform assigns the id: a report that has it already belongs to a platform that was replaced. */
const INSERT = sql(`
  insert into insights_reports (client_id, id, ad_account_id, fields, breakdowns, run)
  values ($1, $2, $3, $4, $5, $6)
  on conflict (id) do update
  set
    client_id = excluded.client_id,
    ad_account_id = excluded.ad_account_id,
    fields = excluded.fields,
    breakdowns = excluded.breakdowns,
    run = excluded.run,
    read_at = default,
    read_started_at = default,
    created_at = default,
    finished_at = null,
    next_check_at = default,
    ${END_CHECK}`);

export async function insertReport(
  db: Queryable,
  clientId: string,
  { id, adAccountId, fields, breakdowns, run }: NewReport,
): Promise<void> {
  await db.query(INSERT, [clientId, id, adAccountId, fields, breakdowns, JSON.stringify(run)]);
}

const FIND = sql(`
  select ${REPORT_COLUMNS}
  from insights_reports r
  where r.id = $1`);

/** Spans all clients: the caller tells a report of another client from one that Herald did not start. */
export async function findReport(db: Queryable, id: string): Promise<ReportRow | undefined> {
  const [row] = await db.query<ReportRow>(FIND, [id]);
  return row;
}

/** The status that is stored, and whether the caller has to read it from the platform. */
export interface StoredStatus {
  run: object;
  isFresh: boolean;
  /** For one caller at a time, who then reads the status; null for the others. */
  claim: string | null;
}

const FRESH = "now() - interval '5 seconds'";

const BEGIN_READ = sql(`
  with begun as (
    update insights_reports
    set read_started_at = now()
    where client_id = $1
    and id = $2
    and read_at < ${FRESH}
    and read_started_at < ${FRESH}
    returning id, read_started_at::text as claim
  )
  select r.run, r.read_at >= ${FRESH} as "isFresh", b.claim
  from insights_reports r
  left join begun b on b.id = r.id
  where r.client_id = $1
  and r.id = $2`);

/** Begins a read of the status unless one was begun or completed within the last 5 seconds. */
export async function beginStatusRead(
  db: Queryable,
  clientId: string,
  id: string,
): Promise<StoredStatus | undefined> {
  const [row] = await db.query<StoredStatus>(BEGIN_READ, [clientId, id]);
  return row;
}

const RELEASE_READ = sql(`
  update insights_reports
  set read_started_at = default
  where id = $1
  and read_started_at = $2::timestamptz`);

/** Spans all clients: the read with this claim failed, so the next caller may begin one at once. */
export async function releaseStatusRead(db: Queryable, id: string, claim: string): Promise<void> {
  await db.query(RELEASE_READ, [id, claim]);
}

/** SQL: a report is checked less often as it ages. */
export const NEXT_CHECK =
  "now() + greatest(interval '20 seconds', least(interval '15 minutes', (now() - created_at) / 5))";

const RECORD = sql(`
  update insights_reports
  set run = $2, read_at = now(), next_check_at = ${NEXT_CHECK}
  where id = $1
  and finished_at is null`);

/** Spans all clients: stores the status of a run that has not ended. A run that has ended meanwhile stays so. */
export async function recordStatus(db: Queryable, id: string, run: object): Promise<void> {
  await db.query(RECORD, [id, JSON.stringify(run)]);
}

const FINISH = sql(`
  with former as (
    select id, finished_at
    from insights_reports
    where id = $1
    for update
  )
  update insights_reports r
  set run = $2, read_at = now(), finished_at = coalesce(f.finished_at, now()), ${END_CHECK}
  from former f
  where r.id = f.id
  returning f.finished_at is null as "isFirst"`);

/** Spans all clients: stores the status of a run that has ended. True the first time: the caller records the event. */
export async function finishReport(tx: Queryable, id: string, run: object): Promise<boolean> {
  const [row] = await tx.query<{ isFirst: boolean }>(FINISH, [id, JSON.stringify(run)]);
  return row?.isFirst ?? false;
}

/** The scheduler follows a report for as long as the platform keeps it. */
const REPORT_LIFETIME_MS = 30 * DAY;
/** Afterwards, a report remains known for a while, so that a request for it gets the platform's error. */
export const REPORT_RETENTION_MS = 90 * DAY;

const LIST_EXPIRED = sql(`
  select ${REPORT_COLUMNS}
  from insights_reports r
  where r.finished_at is null
  and r.created_at < now() - $1 * interval '1 ms'
  order by r.created_at
  limit $2`);

/** Spans all clients: reports that did not end while the platform kept them. */
export const listExpiredReports = (db: Queryable, limit: number): Promise<ReportRow[]> =>
  db.query<ReportRow>(LIST_EXPIRED, [REPORT_LIFETIME_MS, limit]);

const DELETE_OLD = sql(`
  delete from insights_reports
  where id in (
    select id
    from insights_reports
    where finished_at is not null
    and created_at < now() - $1 * interval '1 ms'
    limit $2
  )
  returning 1 as one`);

/** Spans all clients. Returns how many were deleted. */
export async function deleteOldReports(db: Queryable, ageMs: number, limit: number): Promise<number> {
  const rows = await db.query(DELETE_OLD, [ageMs, limit]);
  return rows.length;
}
