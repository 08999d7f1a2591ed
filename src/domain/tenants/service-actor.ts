import type { AuditActor } from "../../store/tenants/audit-log.ts";

/** The actor of changes that Herald makes without a request from the client. */
export const serviceActor = (clientId: string): AuditActor => ({
  clientId,
  credential: { type: "service", id: "herald", name: "Herald" },
  address: null,
  requestId: null,
});
