import { listById, listOf, listQuery, pageRequest } from "../../http/lists.ts";
import { MANAGERS_ONLY, type Route, route } from "../../http/route.ts";
import { toTimestamp } from "../../schema/timestamps.ts";
import type { Database } from "../../store/database/database.ts";
import { type AuditRow, listAudit } from "../../store/tenants/audit-log.ts";
import { type AuditEntryDto, auditEntry, auditFilters } from "./schema.ts";

const toAuditEntry = ({ at, actor_type, actor_id, actor_name, ...row }: AuditRow): AuditEntryDto => ({
  id: row.id,
  at: toTimestamp(at),
  actor: { type: actor_type as AuditEntryDto["actor"]["type"], id: actor_id, name: actor_name },
  action: row.action,
  target: row.target,
  address: row.address,
  request_id: row.request_id,
  details: row.details,
});

export function auditRoutes({ db }: { db: Database }): Route[] {
  return [
    route({
      method: "get",
      path: "/api/audit",
      operationId: "listAuditEntries",
      ...MANAGERS_ONLY,
      summary: "List audit log entries, newest first",
      query: listQuery(auditFilters),
      reply: listOf(auditEntry),
      async handle({ caller, query, cursors }) {
        const page = pageRequest(query, cursors);
        const rows = await listAudit(db, caller.clientId, { page, ...query });
        return listById(rows, toAuditEntry, { page, cursors });
      },
    }),
  ];
}
