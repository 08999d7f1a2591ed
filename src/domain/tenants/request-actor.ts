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

/** The client for whom a platform is called, and the id of its request, for the log. */
export interface Requester {
  clientId: string;
  /** Absent for a command. */
  requestId?: string | null;
}

export const toRequester = ({ caller, requestId }: ClientRequest): Requester => ({
  clientId: caller.clientId,
  requestId,
});

/** An authenticated request of a client. */
export interface ClientRequest {
  caller: { clientId: string };
  requestId: string;
}

/** The first log fields of a platform call. */
export const aboutRequester = ({ clientId, requestId }: Requester) => ({
  request_id: requestId ?? undefined,
  client: clientId,
});
