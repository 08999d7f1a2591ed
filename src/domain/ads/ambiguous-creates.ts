import { type AuditActor, recordAudit } from "../../store/tenants/audit-log.ts";
import type { AdAccountAccess } from "./ad-account-access.ts";
import type { AdObjectParts } from "./ad-objects.ts";

interface AmbiguousCreate {
  actor: AuditActor;
  /** The edge of the platform, such as `campaigns`. */
  kind: string;
  name: unknown;
}

/** Records in the audit log that a create may have happened. */
export async function recordAmbiguousCreate(
  { db, log }: Pick<AdObjectParts, "db" | "log">,
  { row }: AdAccountAccess,
  { actor, kind, name: given }: AmbiguousCreate,
): Promise<void> {
  const { ad_account_id } = row;
  const name = typeof given === "string" ? given : "";
  const target = `${ad_account_id} ${name}`.trimEnd();
  const entry = { action: "ad_object.create_ambiguous", target, details: { ad_account_id, kind, name } };
  // The platform's failure is the answer to the request, even when it cannot be recorded.
  await recordAudit(db, actor, entry).catch((err: unknown) =>
    log.error("audit.write_failed", { client: row.client_id, action: entry.action, err }),
  );
}
