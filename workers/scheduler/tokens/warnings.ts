import { adAccountTokenExpiring } from "../../../src/domain/ads/ad-account-events.ts";
import { recordEvents } from "../../../src/domain/events/record-events.ts";
import { DAY } from "../../../src/runtime/durations.ts";
import { listAccountsOfConnection } from "../../../src/store/ads/ad-accounts.ts";
import { type ConnectionRow, setExpiry } from "../../../src/store/ads/ad-connections.ts";
import type { Database } from "../../../src/store/database/database.ts";

/** Days before a token expires at which its client is warned, once each. */
const WARNING_DAYS = [14, 7, 1] as const;

export interface Warning {
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

interface WarningParts {
  db: Database;
  now(): number;
}

/** Stores the expiry that the platform reported and warns about each account of the token. Returns the warnings sent. */
export async function updateExpiry(
  { db, now }: WarningParts,
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
