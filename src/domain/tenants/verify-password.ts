import { DAY } from "../../runtime/durations.ts";
import { networkOf } from "../../runtime/http/addresses.ts";
import type { CheckOutcome, Passwords } from "../../security/passwords.ts";
import type { SignInLimiter, SignInRule } from "../../security/sign-in-limits.ts";
import type { Database } from "../../store/database/database.ts";
import { findUserByEmail, hasSignedInFrom, type UserCredentialRow } from "../../store/tenants/users.ts";

export interface VerifyParts {
  db: Database;
  passwords: Passwords;
  limitSignIns: SignInLimiter;
}

interface PasswordCheck<T> {
  email: string;
  password: string;
  address: string;
  /** Aborts when the caller disconnects. */
  signal: AbortSignal;
  /** Uses the verified password. Undefined counts as a wrong password: it was changed meanwhile. */
  accept(user: UserCredentialRow): Promise<T | undefined>;
}

export type VerifyOutcome<T> =
  | { outcome: "accepted"; user: UserCredentialRow; result: T }
  /** The user is undefined when the email is unknown. */
  | { outcome: "refused"; user: UserCredentialRow | undefined }
  | { outcome: "limited"; rule: SignInRule; wait: number }
  | { outcome: "overloaded" | "cancelled" };

/** For this long after a sign-in, its network and email have reserved capacity and are exempt from the wide limits. */
export const KNOWN_NETWORK_MS = 30 * DAY;

/** Verifies a password within the limits. Does the same work whether or not the user exists. */
export async function verifyPassword<T>(
  { db, passwords, limitSignIns }: VerifyParts,
  { email, password, address, signal, accept }: PasswordCheck<T>,
): Promise<VerifyOutcome<T>> {
  const network = networkOf(address);
  let isKnown = false;
  let user: UserCredentialRow | undefined;
  const attempt = await limitSignIns({
    network,
    email,
    async isKnown() {
      isKnown = await hasSignedInFrom(db, email, { network, withinMs: KNOWN_NETWORK_MS });
      return isKnown;
    },
    async run(): Promise<UncheckedOutcome | { result: T } | undefined> {
      if (signal.aborted) return { outcome: "cancelled" };
      user = await findUserByEmail(db, email);
      const checked = await passwords.check(password, user?.password_hash, { network, isKnown, signal });
      if (isUnchecked(checked)) return checked;
      const result = user && checked.outcome === "matches" ? await accept(user) : undefined;
      return result === undefined ? undefined : { result };
    },
  });
  if (attempt.outcome === "limited") return attempt;
  if (attempt.result === undefined) return { outcome: "refused", user };
  if ("outcome" in attempt.result) return attempt.result;
  return { outcome: "accepted", user: user as UserCredentialRow, result: attempt.result.result };
}

/** Nothing was computed, so the attempt counts neither as failed nor as successful. */
interface UncheckedOutcome {
  outcome: "overloaded" | "cancelled";
}

const isUnchecked = (checked: CheckOutcome): checked is UncheckedOutcome =>
  checked.outcome === "overloaded" || checked.outcome === "cancelled";
