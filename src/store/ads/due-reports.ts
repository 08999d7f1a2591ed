import { type Queryable, sql } from "../database/database.ts";
import { IS_NOT_QUARANTINED, IS_NOT_SUSPECT, IS_SUSPECT } from "../processes/deaths.ts";
import { SET_UNIT_DONE } from "../processes/unit-claims.ts";
import { NEXT_CHECK, REPORT_COLUMNS, type ReportRow } from "./insights-reports.ts";

/** A report that is due for a check, with the access to its account. */
export interface DueReport extends ReportRow {
  connection_id: string;
  token_sealed: string;
}

/** Reports of accounts that are not active wait until they are, or until they expire. */
const isDue = (condition: string) => `
  from insights_reports r
  join ad_accounts a on a.client_id = r.client_id and a.ad_account_id = r.ad_account_id and a.status = 'active'
  join ad_connections c on c.id = a.connection_id
  where r.finished_at is null
  and r.next_check_at <= now()
  and ${condition}`;

/** Takes as many reports of every account as one batch holds, so that no account waits for another's backlog. */
const listDue = (condition: string) => `
  select *
  from (
    select ${REPORT_COLUMNS}, a.connection_id, c.token_sealed, r.deaths, r.next_check_at,
      row_number() over (partition by r.client_id, r.ad_account_id order by r.next_check_at, r.id) as place
    ${isDue(condition)}
  ) due
  where place <= $2
  order by deaths, place, next_check_at
  limit $1`;

const LIST_DUE = sql(listDue(`r.${IS_NOT_SUSPECT}`));
const LIST_DUE_SUSPECTS = sql(listDue(`r.${IS_SUSPECT} and r.${IS_NOT_QUARANTINED}`));

/** Spans all clients: reports that are due, the suspects or the others. */
export const listDueReports = (
  db: Queryable,
  { areSuspects, limit, perAccount }: { areSuspects: boolean; limit: number; perAccount: number },
): Promise<DueReport[]> =>
  db.query<DueReport>(areSuspects ? LIST_DUE_SUSPECTS : LIST_DUE, [limit, perAccount]);

const COUNT_DUE = sql(`select count(*)::integer as count ${isDue(`r.${IS_NOT_QUARANTINED}`)}`);

/** Spans all clients. */
export async function countDueReports(db: Queryable): Promise<number> {
  const [row] = await db.query<{ count: number }>(COUNT_DUE);
  return row?.count ?? 0;
}

const POSTPONE = sql(`
  update insights_reports
  set next_check_at = ${NEXT_CHECK}, ${SET_UNIT_DONE}
  where id = any($1)`);

/** Spans all clients: the check of these reports failed; they are due again later. */
export async function postponeReports(db: Queryable, ids: readonly string[]): Promise<void> {
  await db.query(POSTPONE, [ids]);
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
  { client_id, ad_account_id }: Pick<ReportRow, "client_id" | "ad_account_id">,
  waitMs: number,
): Promise<void> {
  await db.query(PAUSE_ACCOUNT, [client_id, ad_account_id, waitMs]);
}
