import type { AuditActor } from "../../store/tenants/audit-log.ts";

/** What happens to a client without anybody of theirs having done it. */
export const serviceActor = (clientId: string): AuditActor => ({
  clientId,
  credential: { type: "service", id: "herald", name: "Herald" },
  address: null,
  requestId: null,
});
