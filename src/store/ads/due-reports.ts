import { type Queryable, sql } from "../database/database.ts";
import { END_CHECK, HAS_NO_DEATHS, IS_CHECKED, IS_CHECKED_ALONE } from "../processes/row-checks.ts";
import { NEXT_CHECK, REPORT_COLUMNS, type ReportRow } from "./insights-reports.ts";

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
