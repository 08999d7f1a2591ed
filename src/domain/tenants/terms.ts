import { hash } from "node:crypto";
import { ApiError } from "../../runtime/errors.ts";
import type { Database, Queryable } from "../../store/database/database.ts";
import { type Deed, recordAudit } from "../../store/tenants/audit-log.ts";
import {
  countAcceptances,
  holdTermsInForce,
  insertAcceptance,
  insertTerms,
  lockTerms,
  readAcceptance,
  readTermsStatus,
  type TermsRow,
  type TermsStatusRow,
} from "../../store/tenants/terms.ts";

/** Who accepts for a client. A user's row fits. */
export interface Acceptor {
  id: string;
  name: string;
  email: string | null;
  role: string;
}

export interface AcceptanceWish {
  version: string;
  who: Acceptor;
  userAgent: string | undefined;
}

export type Acceptance =
  | { outcome: "accepted"; status: TermsStatusRow }
  | { outcome: "not current"; current: string };

/** Whoever publishes waits until this is over, so what is accepted is in force at that moment. */
export function acceptVersion(
  db: Database,
  deed: Deed,
  { version, who, userAgent }: AcceptanceWish,
): Promise<Acceptance> {
  return db.transaction(async (tx): Promise<Acceptance> => {
    const inForce = await holdTermsInForce(tx);
    if (version !== inForce.version) return { outcome: "not current", current: inForce.version };
    await accept(tx, deed, { inForce, who, userAgent });
    return { outcome: "accepted", status: await readTermsStatus(tx, deed.caller.clientId) };
  });
}

/** Accepts whatever is in force, inside a transaction. Twice changes nothing. */
export async function acceptTerms(tx: Queryable, deed: Deed, who: Acceptor): Promise<void> {
  await accept(tx, deed, { inForce: await holdTermsInForce(tx), who, userAgent: undefined });
}

interface Accepted extends Omit<AcceptanceWish, "version"> {
  inForce: TermsRow;
}

/** The first acceptance stays, with its date and its line in the audit log. */
async function accept(tx: Queryable, deed: Deed, { inForce, who, userAgent }: Accepted): Promise<void> {
  const { version, text } = inForce;
  const { id: userId, name, email, role } = who;
  const fresh = await insertAcceptance(tx, deed.caller.clientId, { version, userId, name, email, role });
  if (!fresh) return;
  const details = { version, user_agent: shortened(userAgent), text_sha256: hash("sha256", text) };
  await recordAudit(tx, deed, { action: "terms.accepted", target: version, details });
}

/** By whole characters: half a pair could not be kept. */
const shortened = (text: string | undefined) =>
  text === undefined ? null : Array.from(text).slice(0, 512).join("");

export type Publication =
  | {
      outcome: "published";
      row: TermsRow;
      former: string;
      /** How many clients had accepted the former version, and must accept anew. */
      unsettled: number;
    }
  | { outcome: "exists" };

/** In force at once, for all clients. */
export function publishTerms(db: Database, terms: Pick<TermsRow, "version" | "text">): Promise<Publication> {
  return db.transaction(async (tx): Promise<Publication> => {
    const { version: former } = await lockTerms(tx);
    const row = await insertTerms(tx, terms);
    if (!row) return { outcome: "exists" };
    return { outcome: "published", row, former, unsettled: await countAcceptances(tx, former) };
  });
}

/** Lets those pass who have accepted what is in force. Asked anew each time: a publication closes it at once. */
export const termsGate =
  (db: Queryable) =>
  async ({ clientId }: { clientId: string }): Promise<void> => {
    const { version, accepted } = await readAcceptance(db, clientId);
    if (accepted) return;
    throw new ApiError("terms_not_accepted", `The terms of version ${version} must be accepted first`, {
      extra: { current_version: version },
    });
  };
