import type { AuditActor } from "../../store/tenants/audit-log.ts";

/** The credential of changes that Herald makes without a request from the client. */
export const SERVICE = { type: "service", id: "herald", name: "Herald" } as const;

export const serviceActor = (clientId: string): AuditActor => ({
  clientId,
  credential: SERVICE,
  address: null,
  requestId: null,
});
