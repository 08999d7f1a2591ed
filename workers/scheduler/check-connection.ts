import { revokeDeadConnection, subscribe } from "../../src/domain/ads/ad-account-access.ts";
import { adAccountTokenExpiring, recordSync, toFacts } from "../../src/domain/ads/ad-accounts.ts";
import { recordEvents } from "../../src/domain/events/record-events.ts";
import type { PlatformAdAccount } from "../../src/platforms/ads/accounts.ts";
import { isForbidden, isTokenDead, PlatformFailure } from "../../src/platforms/errors/failure.ts";
import type { Platforms } from "../../src/platforms/platforms.ts";
import { DAY } from "../../src/runtime/durations.ts";
import type { Fields, Log } from "../../src/runtime/log.ts";
import type { TrackedWork, WorkTracker } from "../../src/runtime/watchdog.ts";
import { openConnectionToken } from "../../src/security/sealed-tokens.ts";
import type { SecretBox } from "../../src/security/secret-box.ts";
import { type AdAccountRow, listAccountsOfConnection } from "../../src/store/ads/ad-accounts.ts";
import { type ConnectionRow, setExpiry } from "../../src/store/ads/ad-connections.ts";
import type { Database } from "../../src/store/database/database.ts";

export interface CheckParts {
  db: Database;
  secretBox: SecretBox;
  ads: Pick<Platforms["ads"], "tokens" | "accounts">;
  log: Log;
  tracker: WorkTracker;
  now(): number;
}

export const NO_FINDINGS = {
  /** Tokens whose owner has to act at the platform. */
  suspended: 0,
  /** This count and the following ones are of accounts. */
  revoked: 0,
  updated: 0,
  unreached: 0,
  warned: 0,
  subscribed: 0,
  not_subscribed: 0,
};

/** Counts by finding. */
export type Findings = typeof NO_FINDINGS;

/** Checks the token and the accounts of a connection. Throws when the platform gives no usable answer. */
export async function checkConnection(
  parts: CheckParts,
  connection: ConnectionRow,
  tracked: TrackedWork,
): Promise<Findings> {
  const { secretBox, ads, log } = parts;
  const { id, client_id: client } = connection;
  const token = openConnectionToken(secretBox, id, connection.token_sealed);
  const about = { client, connection: id };
  const inspection = await ads.tokens.inspect(token, about).catch(throwAppError);
  tracked.resume();
  const isDead = inspection.dead || (!inspection.valid && (await isDeadInUse(parts, token, about)));
  if (isDead) return { ...NO_FINDINGS, revoked: await revokeDeadConnection(parts, id) };
  if (!inspection.valid) {
    log.warn("ad_connection.suspended", { ...about, reason: inspection.reason });
    return { ...NO_FINDINGS, suspended: 1 };
  }
  // Record the expiry first: it is valid even when reading the accounts fails.
  const warned = await updateExpiry(parts, connection, inspection.expiresAt);
  return { ...NO_FINDINGS, warned, ...(await checkAccounts(parts, connection, token)) };
}

/** "Invalid" alone does not prove that a token is dead, and a dead one is erased: tries the token to find out. */
async function isDeadInUse({ ads }: CheckParts, token: string, about: Fields): Promise<boolean> {
  try {
    await ads.accounts.listAll(token, about);
    return false;
  } catch (error) {
    if (isTokenDead(error) || isForbidden(error)) return isTokenDead(error);
    return rethrowPause(error);
  }
}

/** Reads the accounts of a connection again. Revokes the connection when the platform reports its token as dead. */
async function checkAccounts(
  parts: CheckParts,
  connection: ConnectionRow,
  token: string,
): Promise<Partial<Findings>> {
  const rows = await listAccountsOfConnection(parts.db, connection.id);
  try {
    const accountsById = await readAccounts(parts, { connection, token, rows });
    return await recordAccounts(parts, { connection, token, rows, accountsById });
  } catch (error) {
    if (isTokenDead(error)) return { revoked: await revokeDeadConnection(parts, connection.id) };
    return rethrowPause(error);
  }
}

interface ConnectionAccounts {
  connection: ConnectionRow;
  token: string;
  rows: readonly AdAccountRow[];
}

/** The platform's data of each account, by its id there; null when the token may not read it. */
type AccountsById = Map<string, PlatformAdAccount | null>;

/**
 * Reads accounts that the list lacks one by one: neither a gap nor a refused list proves that an account is unreachable.
 * Skips those already known to be unreachable.
 */
async function readAccounts(
  { ads }: CheckParts,
  { connection, token, rows }: ConnectionAccounts,
): Promise<AccountsById> {
  const about = { client: connection.client_id, connection: connection.id };
  const listed = await ads.accounts.listAll(token, about).catch(fallbackIfForbidden([]));
  const accountsById: AccountsById = new Map(listed.map((account) => [account.ad_account_id, account]));
  for (const { ad_account_id: account, unreached_since } of rows) {
    if (accountsById.has(account) || unreached_since !== null) continue;
    accountsById.set(
      account,
      await ads.accounts.read({ account, token, about }).catch(fallbackIfForbidden(null)),
    );
  }
  return accountsById;
}

const fallbackIfForbidden =
  <T>(fallback: T) =>
  (error: unknown): T => {
    if (isForbidden(error)) return fallback;
    throw error;
  };

async function recordAccounts(
  parts: CheckParts,
  { connection, token, rows, accountsById }: ConnectionAccounts & { accountsById: AccountsById },
): Promise<Partial<Findings>> {
  const { db, log } = parts;
  const { id, client_id: client } = connection;
  const readable = rows.flatMap((row) => {
    const account = accountsById.get(row.ad_account_id);
    return account ? [{ row, facts: { id: row.id, ...toFacts(account) } }] : [];
  });
  const unreachableIds = rows
    .filter(({ ad_account_id }) => accountsById.get(ad_account_id) === null)
    .map((row) => row.id);
  const fetched = readable.map(({ facts }) => facts);
  const { changed, unreachable } = await recordSync(db, id, { fetched, unreachableIds });
  for (const ad_account of unreachable) log.warn("ad_account.unreachable", { client, ad_account });
  const unsubscribed = readable.map(({ row }) => row).filter(needsSubscription);
  const subscribed = await subscribeAll(parts, { connection, token, rows: unsubscribed });
  return { updated: changed, unreached: unreachable.length, ...subscribed };
}

/** True when the subscription failed on activation. */
const needsSubscription = ({ status, subscribed_at }: AdAccountRow) =>
  status === "active" && subscribed_at === null;

async function subscribeAll(
  { db, ads, log }: CheckParts,
  { connection, token, rows }: ConnectionAccounts,
): Promise<Partial<Findings>> {
  let subscribed = 0;
  for (const row of rows) {
    const access = { account: row.ad_account_id, token, about: { client: row.client_id } };
    const opened = { row: { ...row, connection_id: connection.id }, access };
    if (await subscribe({ db, accounts: ads.accounts, log }, opened)) subscribed += 1;
  }
  return { subscribed, not_subscribed: rows.length - subscribed };
}

type AppErrorKind = "no_answer" | "pause";

/** A failure that concerns the whole app: the platform does not answer it, or asked it to pause. */
export class AppError extends Error {
  override name = "AppError";
  readonly kind: AppErrorKind;
  readonly failure: PlatformFailure;

  constructor(kind: AppErrorKind, failure: PlatformFailure) {
    super(failure.message, { cause: failure });
    this.kind = kind;
    this.failure = failure;
  }
}

/** For the inspection of a token, which the app requests itself: its failure may concern all connections. */
function throwAppError(error: unknown): never {
  throw error instanceof PlatformFailure
    ? new AppError(isAppPause(error) ? "pause" : "no_answer", error)
    : error;
}

/** For requests with a connection's own token: only a pause of the app concerns other connections. */
function rethrowPause(error: unknown): never {
  throw error instanceof PlatformFailure && isAppPause(error) ? new AppError("pause", error) : error;
}

/** True when the app's limit refused or paused the request. A limit of one account does not stop the others. */
const isAppPause = ({ pauses }: PlatformFailure): boolean => pauses === "app";

/** Days before a token expires at which its client is warned, once each. */
const WARNING_DAYS = [14, 7, 1] as const;

interface Warning {
  /** The value of WARNING_DAYS that was reached. */
  threshold: number;
  /** Rounded up. */
  daysLeft: number;
}

/** Returns the warning that is due, sent or not; undefined when the token has expired or does not expire soon. */
export function dueWarning(expiresAt: Date | null, now: number): Warning | undefined {
  const left = expiresAt === null ? Number.POSITIVE_INFINITY : expiresAt.getTime() - now;
  if (left <= 0) return undefined;
  const threshold = WARNING_DAYS.findLast((days) => left <= days * DAY);
  return threshold === undefined ? undefined : { threshold, daysLeft: Math.ceil(left / DAY) };
}

/** Stores the expiry that the platform reported and warns about each account of the token. Returns the warnings sent. */
async function updateExpiry(
  { db, now }: CheckParts,
  { id, expires_at, warned_days }: ConnectionRow,
  reportedExpiry: Date | null | undefined,
): Promise<number> {
  const expiresAt = reportedExpiry === undefined ? expires_at : reportedExpiry;
  const warning = dueWarning(expiresAt, now());
  const isDue = warning !== undefined && (warned_days === null || warned_days > warning.threshold);
  if (!isDue && expires_at?.getTime() === expiresAt?.getTime()) return 0;
  return db.transaction(async (tx) => {
    const isFirst = await setExpiry(tx, id, { expiresAt, warnedDays: warning?.threshold ?? null });
    if (!expiresAt || !warning || !isFirst) return 0;
    const accounts = await listAccountsOfConnection(tx, id);
    const { daysLeft } = warning;
    await recordEvents(
      tx,
      accounts.map((account) => adAccountTokenExpiring(account, { expiresAt, daysLeft })),
    );
    return accounts.length;
  });
}
