import type { AuditActor } from "../../store/tenants/audit-log.ts";

/** An authenticated request, as a route handler receives it. */
interface ActingRequest {
  caller: Pick<AuditActor, "clientId" | "credential">;
  address: string;
  requestId: string;
}

/** The caller of a request, as the audit log records it. */
export const requestActor = ({ caller, address, requestId }: ActingRequest): AuditActor => {
  const { type, id, name } = caller.credential;
  return { clientId: caller.clientId, credential: { type, id, name }, address, requestId };
};
