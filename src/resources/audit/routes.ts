import { toAuditEntry } from "../../domain/tenants/audit-dto.ts";
import { listById, listOf, listQuery, pageRequest } from "../../http/lists.ts";
import { MANAGERS_ONLY, type Route, route } from "../../http/route.ts";
import { auditEntry } from "../../schema/history/audit.ts";
import { listAudit } from "../../store/tenants/audit-log.ts";
import { auditFilters } from "./schema.ts";

export function auditRoutes(): Route[] {
  return [
    route({
      method: "get",
      path: "/api/audit",
      operationId: "listAuditEntries",
      ...MANAGERS_ONLY,
      summary: "List audit log entries, newest first",
      query: listQuery(auditFilters),
      reply: listOf(auditEntry),
      async handle({ db, caller, query, cursors }) {
        const page = pageRequest(query, cursors);
        const rows = await listAudit(db, caller.clientId, { page, ...query });
        return listById(rows, toAuditEntry, { page, cursors });
      },
    }),
  ];
}
