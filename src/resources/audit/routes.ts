import { toAuditEntry } from "../../domain/tenants/audit-actors.ts";
import { listById, listOf, listQuery, pageRequest, periodOf } from "../../http/lists.ts";
import { MANAGERS_ONLY, type Route, route } from "../../http/route.ts";
import { auditEntry } from "../../schema/tenants.ts";
import { Type, timestamp } from "../../schema/types.ts";
import { listAudit } from "../../store/tenants/audit-log.ts";

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
        const { action, actor_id } = query;
        const rows = await listAudit(db, caller.clientId, { page, action, actor_id, ...periodOf(query) });
        return listById(rows, toAuditEntry, { page, cursors });
      },
    }),
  ];
}

const auditFilters = {
  action: Type.Optional(
    Type.String({ maxLength: 100, description: "Only entries with this action", examples: ["key.created"] }),
  ),
  actor_id: Type.Optional(
    Type.String({
      maxLength: 200,
      description: "Only entries of this user or API key",
      examples: ["usr_01k9zv3m5q8x7w2r4t6y0a1b2c"],
    }),
  ),
  since: Type.Optional(
    timestamp({
      description: "Only entries made at or after this time",
      examples: ["2026-11-01T00:00:00.000Z"],
    }),
  ),
  until: Type.Optional(
    timestamp({
      description: "Only entries made at or before this time",
      examples: ["2026-11-02T00:00:00.000Z"],
    }),
  ),
};
