import type { AuditEntryDto } from "../../schema/tenants.ts";
import { toTimestamp } from "../../schema/times.ts";
import type { AuditActor, AuditRow } from "../../store/tenants/audit-log.ts";

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

/** The credential of changes that Herald makes without a request from the client. */
export const SERVICE = { type: "service", id: "herald", name: "Herald" } as const;

export const serviceActor = (clientId: string): AuditActor => ({
  clientId,
  credential: SERVICE,
  address: null,
  requestId: null,
});

/** An entry of the audit log as responses show it. */
export const toAuditEntry = ({ at, actor_type, actor_id, actor_name, ...row }: AuditRow): AuditEntryDto => ({
  id: row.id,
  at: toTimestamp(at),
  actor: { type: actor_type as AuditEntryDto["actor"]["type"], id: actor_id, name: actor_name },
  action: row.action,
  target: row.target,
  address: row.address,
  request_id: row.request_id,
  details: row.details,
});

/** An authenticated request of a client. */
export interface ClientRequest {
  caller: { clientId: string };
  requestId: string;
}

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

/** The first log fields of a platform call. */
export const aboutRequester = ({ clientId, requestId }: Requester) => ({
  request_id: requestId ?? undefined,
  client: clientId,
});
