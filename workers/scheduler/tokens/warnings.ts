import { adAccountTokenExpiring } from "../../../src/domain/ads/ad-account-events.ts";
import { recordEvents } from "../../../src/domain/events/record-events.ts";
import { DAY } from "../../../src/runtime/durations.ts";
import { listAccountsOfConnection } from "../../../src/store/ads/ad-accounts.ts";
import { type ConnectionRow, setExpiry } from "../../../src/store/ads/ad-connections.ts";
import type { Database } from "../../../src/store/database/database.ts";

/** So many days before a token ends its client is warned, once each. */
const WARNING_DAYS = [14, 7, 1] as const;

export interface Warning {
  /** Which of the warnings it is. */
  threshold: number;
  /** A day that has begun counts. */
  daysLeft: number;
}

/** The warning that has come for a token that ends then, given or not; a token without an end needs none. */
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

/** Keeps when the token ends, as far as the platform has told, and warns of each account that is connected by it. Answers how many. */
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
