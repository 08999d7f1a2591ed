import { type Queryable, sql } from "../database/database.ts";

export interface TermsRow {
  version: string;
  text: string;
  published_at: Date;
}

/** Whether a client has accepted the version in force, with its latest acceptance of any version. */
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

/** The version published last. */
const CURRENT = `(
    select version, text, published_at
    from terms_versions
    order by number desc
    limit 1
  ) current`;

const FIND_IN_FORCE = sql(`
  select version, text, published_at
  from ${CURRENT}`);

/** Blocks publishing; allows acceptances and reads. */
const LOCK_FOR_ACCEPTANCE = sql("lock table terms_versions in row share mode");

/** Blocks acceptances and publishing; allows reads. */
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

/**
 * Ordered by publication: only the version in force can be accepted, so the newest accepted version is the
 * latest acceptance.
 */
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

/** Applies to all clients. A version always exists: the migration inserts the first one. */
export async function findTermsInForce(db: Queryable): Promise<TermsRow> {
  const [row] = await db.query<TermsRow>(FIND_IN_FORCE);
  return row as TermsRow;
}

/**
 * Keeps the version in force until the transaction ends. Reads after locking, to see a version published
 * while it waited for the lock.
 */
export async function lockTermsForAcceptance(tx: Queryable): Promise<TermsRow> {
  await tx.query(LOCK_FOR_ACCEPTANCE);
  return findTermsInForce(tx);
}

/** Blocks other publishing and all acceptances until the transaction ends; returns the version in force. */
export async function lockTermsForPublishing(tx: Queryable): Promise<TermsRow> {
  await tx.query(LOCK_FOR_PUBLISHING);
  return findTermsInForce(tx);
}

/** Applies to all clients. Undefined when the version already exists. */
export async function insertTerms(
  tx: Queryable,
  { version, text }: Pick<TermsRow, "version" | "text">,
): Promise<TermsRow | undefined> {
  const [row] = await tx.query<TermsRow>(PUBLISH, [version, text]);
  return row;
}

/** Number of clients that have accepted the version. */
export async function countAcceptances(db: Queryable, version: string): Promise<number> {
  const [row] = await db.query<{ count: number }>(COUNT_ACCEPTANCES, [version]);
  return row?.count ?? 0;
}

/** False when the client had already accepted the version; the first acceptance stays. */
export async function insertAcceptance(
  tx: Queryable,
  clientId: string,
  { version, userId, name, email, role }: NewAcceptance,
): Promise<boolean> {
  const rows = await tx.query(ACCEPT, [clientId, version, userId, name, email, role]);
  return rows.length > 0;
}

/** Read by the terms gate on each request. */
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
