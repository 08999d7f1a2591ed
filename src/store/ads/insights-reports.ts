import { DAY } from "../../runtime/durations.ts";
import { type Queryable, sql } from "../database/database.ts";
import { END_CHECK, HAS_NO_DEATHS, IS_CHECKED, IS_CHECKED_ALONE } from "../processes/row-checks.ts";

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
const REPORT_COLUMNS = "r.id, r.client_id, r.ad_account_id, r.fields, r.breakdowns, r.created_at";

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
const NEXT_CHECK =
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

/** A report that is due for a check, with the access to its account. */
export interface DueReport extends ReportRow {
  connection_id: string;
  token_sealed: string;
}

/** An account of one client: the platform has one batch for each. */
type ReportAccount = Pick<ReportRow, "client_id" | "ad_account_id">;

interface DueReports {
  /** Reports that became due later belong to the next run. */
  dueAt: Date;
  areSuspects: boolean;
}

/**
 * Reports of accounts that are not active wait until they are, or until they expire. $1 is `dueAt`, which has no
 * microseconds: the millisecond includes a report that became due just before.
 */
const isDue = (condition: string) => `
  from insights_reports r
  join ad_accounts a on a.client_id = r.client_id and a.ad_account_id = r.ad_account_id and a.status = 'active'
  join ad_connections c on c.id = a.connection_id
  where r.finished_at is null
  and r.next_check_at < $1::timestamptz + interval '1 ms'
  and r.${condition}`;

const listAccounts = (condition: string) =>
  sql(`
  select r.client_id, r.ad_account_id
  ${isDue(condition)}
  group by r.client_id, r.ad_account_id
  order by min(r.deaths), min(r.next_check_at)
  limit $2`);

const LIST_ACCOUNTS = listAccounts(HAS_NO_DEATHS);
const LIST_ACCOUNTS_OF_SUSPECTS = listAccounts(IS_CHECKED_ALONE);

/** Spans all clients: accounts with reports that are due, the suspects or the others. */
export const listDueAccounts = (
  db: Queryable,
  { dueAt, areSuspects }: DueReports,
  limit: number,
): Promise<ReportAccount[]> =>
  db.query<ReportAccount>(areSuspects ? LIST_ACCOUNTS_OF_SUSPECTS : LIST_ACCOUNTS, [dueAt, limit]);

const claimDue = (condition: string) =>
  sql(`
  with due as materialized (
    select r.id, a.connection_id, c.token_sealed
    ${isDue(condition)}
    and r.client_id = $2
    and r.ad_account_id = $3
    order by r.deaths, r.next_check_at, r.id
    limit $4
    for update of r skip locked
  )
  update insights_reports r
  set next_check_at = ${NEXT_CHECK}, deaths = r.deaths + 1
  from due
  where r.id = due.id
  returning ${REPORT_COLUMNS}, due.connection_id, due.token_sealed`);

const CLAIM_DUE = claimDue(HAS_NO_DEATHS);
const CLAIM_DUE_SUSPECTS = claimDue(IS_CHECKED_ALONE);

/** Begins the check of reports of this account that are due, the suspects or the others. */
export const claimDueReports = (
  db: Queryable,
  { client_id, ad_account_id }: ReportAccount,
  { dueAt, areSuspects, limit }: DueReports & { limit: number },
): Promise<DueReport[]> =>
  db.query<DueReport>(areSuspects ? CLAIM_DUE_SUSPECTS : CLAIM_DUE, [dueAt, client_id, ad_account_id, limit]);

const COUNT_DUE = sql(`select count(*)::integer as count ${isDue(IS_CHECKED)}`);

/** Spans all clients. */
export async function countDueReports(db: Queryable, dueAt: Date): Promise<number> {
  const [row] = await db.query<{ count: number }>(COUNT_DUE, [dueAt]);
  return row?.count ?? 0;
}

const END_CHECKS = sql(`
  update insights_reports
  set next_check_at = case when $2 then next_check_at else $3::timestamptz end, ${END_CHECK}
  where id = any($1)`);

/** Spans all clients. Reports whose check was stopped (`areChecked` is false) are due as before, at `dueAt`. */
export async function endReportChecks(
  db: Queryable,
  ids: readonly string[],
  { areChecked, dueAt }: { areChecked: boolean; dueAt: Date },
): Promise<void> {
  await db.query(END_CHECKS, [ids, areChecked, dueAt]);
}

const PAUSE_ACCOUNT = sql(`
  update insights_reports
  set next_check_at = greatest(next_check_at, now() + $3 * interval '1 ms')
  where client_id = $1
  and ad_account_id = $2
  and finished_at is null`);

/** The platform has throttled the account: checks none of its reports for this time. */
export async function pauseReportsOfAccount(
  db: Queryable,
  { client_id, ad_account_id }: ReportAccount,
  waitMs: number,
): Promise<void> {
  await db.query(PAUSE_ACCOUNT, [client_id, ad_account_id, waitMs]);
}
