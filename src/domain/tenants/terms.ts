import { hash } from "node:crypto";
import type { Database, Queryable } from "../../store/database/database.ts";
import { type AuditActor, recordAudit } from "../../store/tenants/audit-log.ts";
import {
  countAcceptances,
  insertAcceptance,
  insertTerms,
  lockTermsForAcceptance,
  lockTermsForPublishing,
  readTermsStatus,
  type TermsRow,
  type TermsStatusRow,
} from "../../store/tenants/terms.ts";

/** The person who accepts for a client; a user row fits. */
export interface TermsAcceptor {
  id: string;
  name: string;
  email: string | null;
  role: string;
}

export interface AcceptanceInput {
  version: string;
  acceptor: TermsAcceptor;
  userAgent: string | undefined;
}

export type AcceptanceOutcome =
  | { outcome: "accepted"; status: TermsStatusRow }
  | { outcome: "not_current"; current: string };

/** Publishing waits for this transaction, so the accepted version is the one in force. */
export function acceptVersion(
  db: Database,
  actor: AuditActor,
  { version, acceptor, userAgent }: AcceptanceInput,
): Promise<AcceptanceOutcome> {
  return db.transaction(async (tx): Promise<AcceptanceOutcome> => {
    const inForce = await lockTermsForAcceptance(tx);
    if (version !== inForce.version) return { outcome: "not_current", current: inForce.version };
    await recordAcceptance(tx, actor, { inForce, acceptor, userAgent });
    return { outcome: "accepted", status: await readTermsStatus(tx, actor.clientId) };
  });
}

/** Accepts the version in force. Accepting it twice changes nothing. */
export function acceptTerms(db: Database, actor: AuditActor, acceptor: TermsAcceptor): Promise<void> {
  return db.transaction(async (tx) => {
    const inForce = await lockTermsForAcceptance(tx);
    await recordAcceptance(tx, actor, { inForce, acceptor, userAgent: undefined });
  });
}

interface AcceptanceRecord extends Omit<AcceptanceInput, "version"> {
  inForce: TermsRow;
}

/** The first acceptance stays, with its date and its entry in the audit log. */
async function recordAcceptance(
  tx: Queryable,
  actor: AuditActor,
  { inForce, acceptor, userAgent }: AcceptanceRecord,
): Promise<void> {
  const { version, text } = inForce;
  const { id: userId, name, email, role } = acceptor;
  const isNew = await insertAcceptance(tx, actor.clientId, { version, userId, name, email, role });
  if (!isNew) return;
  const details = { version, user_agent: truncateText(userAgent), text_sha256: hash("sha256", text) };
  await recordAudit(tx, actor, { action: "terms.accepted", target: version, details });
}

/** Cuts between characters: Postgres cannot store half a surrogate pair. */
const truncateText = (text: string | undefined) =>
  text === undefined ? null : Array.from(text).slice(0, 512).join("");

export type PublishOutcome =
  | {
      outcome: "published";
      row: TermsRow;
      former: string;
      /** Number of clients that had accepted the former version and must accept again. */
      clientsToReaccept: number;
    }
  | { outcome: "exists" };

/** The version is in force immediately, for all clients. */
export function publishTerms(
  db: Database,
  terms: Pick<TermsRow, "version" | "text">,
): Promise<PublishOutcome> {
  return db.transaction(async (tx): Promise<PublishOutcome> => {
    const { version: former } = await lockTermsForPublishing(tx);
    const row = await insertTerms(tx, terms);
    if (!row) return { outcome: "exists" };
    return { outcome: "published", row, former, clientsToReaccept: await countAcceptances(tx, former) };
  });
}
