import type { AuditEntryDto } from "../../schema/history/audit.ts";
import { toTimestamp } from "../../schema/timestamps.ts";
import type { AuditRow } from "../../store/tenants/audit-log.ts";

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
