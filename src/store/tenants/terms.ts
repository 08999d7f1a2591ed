import { type Queryable, sql } from "../database/database.ts";

export interface TermsRow {
  version: string;
  text: string;
  published_at: Date;
}

/** How a client stands to the version in force: with its last acceptance, of whichever version. */
export interface TermsStatusRow {
  version: string;
  accepted: boolean;
  accepted_at: Date | null;
  user_id: string | null;
  name: string | null;
  email: string | null;
  role: string | null;
}

export interface NewAcceptance {
  version: string;
  userId: string;
  name: string;
  email: string | null;
  role: string;
}

/** What was published last. */
const CURRENT = `(
    select version, text, published_at
    from terms_versions
    order by number desc
    limit 1
  ) current`;

const FIND_IN_FORCE = sql(`
  select version, text, published_at
  from ${CURRENT}`);

/** Lets others accept and everybody read, but nobody publish. */
const LOCK_FOR_ACCEPTANCE = sql("lock table terms_versions in row share mode");

/** Lets everybody read, but nobody accept or publish. */
const LOCK_FOR_PUBLISHING = sql("lock table terms_versions in exclusive mode");

const PUBLISH = sql(`
  insert into terms_versions (version, text)
  values ($1, $2)
  on conflict (version) do nothing
  returning version, text, published_at`);

const COUNT_ACCEPTANCES = sql(`
  select count(*)::integer as count
  from terms_acceptances
  where version = $1`);

const ACCEPT = sql(`
  insert into terms_acceptances (client_id, version, user_id, name, email, role)
  values ($1, $2, $3, $4, $5, $6)
  on conflict (client_id, version) do nothing
  returning version`);

const IS_ACCEPTED = sql(`
  select current.version, exists (
    select
    from terms_acceptances
    where client_id = $1
    and version = current.version
  ) as accepted
  from ${CURRENT}`);

/** By the order of publishing: only what is in force is ever accepted, so the last acceptance is that of the latest version. */
const STATUS = sql(`
  select current.version, last.version is not distinct from current.version as accepted,
    last.accepted_at, last.user_id, last.name, last.email, last.role
  from ${CURRENT}
  left join lateral (
    select a.version, a.accepted_at, a.user_id, a.name, a.email, a.role
    from terms_acceptances a
    join terms_versions v on v.version = a.version
    where a.client_id = $1
    order by v.number desc
    limit 1
  ) last on true`);

/** Of all clients. There always is one: the first came with its table. */
export async function findTermsInForce(db: Queryable): Promise<TermsRow> {
  const [row] = await db.query<TermsRow>(FIND_IN_FORCE);
  return row as TermsRow;
}

/** The same, and it stays in force until the transaction ends. Read after the lock: who waited for it sees what was published. */
export async function lockTermsForAcceptance(tx: Queryable): Promise<TermsRow> {
  await tx.query(LOCK_FOR_ACCEPTANCE);
  return findTermsInForce(tx);
}

/** Of all clients: until the transaction ends nobody else publishes, and nobody accepts. */
export async function lockTermsForPublishing(tx: Queryable): Promise<TermsRow> {
  await tx.query(LOCK_FOR_PUBLISHING);
  return findTermsInForce(tx);
}

/** For all clients. Undefined when there is such a version. */
export async function insertTerms(
  tx: Queryable,
  { version, text }: Pick<TermsRow, "version" | "text">,
): Promise<TermsRow | undefined> {
  const [row] = await tx.query<TermsRow>(PUBLISH, [version, text]);
  return row;
}

/** How many of all clients have accepted it. */
export async function countAcceptances(db: Queryable, version: string): Promise<number> {
  const [row] = await db.query<{ count: number }>(COUNT_ACCEPTANCES, [version]);
  return row?.count ?? 0;
}

/** False when the client had accepted it before: that stays as it is. */
export async function insertAcceptance(
  tx: Queryable,
  clientId: string,
  { version, userId, name, email, role }: NewAcceptance,
): Promise<boolean> {
  const rows = await tx.query(ACCEPT, [clientId, version, userId, name, email, role]);
  return rows.length > 0;
}

/** What the gate asks on each request. */
export async function readAcceptance(
  db: Queryable,
  clientId: string,
): Promise<Pick<TermsStatusRow, "version" | "accepted">> {
  const [row] = await db.query<TermsStatusRow>(IS_ACCEPTED, [clientId]);
  return row as TermsStatusRow;
}

export async function readTermsStatus(db: Queryable, clientId: string): Promise<TermsStatusRow> {
  const [row] = await db.query<TermsStatusRow>(STATUS, [clientId]);
  return row as TermsStatusRow;
}
