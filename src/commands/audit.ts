import { toAuditEntry } from "../domain/tenants/audit-dto.ts";
import type { PageRequest } from "../store/database/paging.ts";
import { listAudit } from "../store/tenants/audit-log.ts";
import { type Command, defineCommand } from "./program/command.ts";
import { requireClient, sayMore } from "./program/operator.ts";
import { DEFAULT_LISTED_ROWS, OPTION, optional, required } from "./program/options.ts";
import { toText } from "./program/print.ts";
import { readPages } from "./program/read-pages.ts";

const anyText = (about: string) => optional({ placeholder: "TEXT", about, parse: (text: string) => text });

export const AUDIT_COMMANDS: readonly Command[] = [
  defineCommand({
    name: "audit list",
    summary: "List a client's audit log, newest first",
    options: {
      client: required(OPTION.client),
      action: anyText("only this action, such as key.created"),
      actorId: anyText("only entries of this user or API key"),
      limit: optional(OPTION.limit),
    },
    async run({ client, action, actorId, limit = DEFAULT_LISTED_ROWS }, context) {
      await requireClient(context, client);
      const filters = { action, actor_id: actorId };
      const read = (page: PageRequest) => listAudit(context.db, client, { page, ...filters });
      const { rows, hasMore } = await readPages(read, limit);
      if (hasMore) sayMore(context, limit);
      return { data: rows.map(toAuditEntry) };
    },
    show: ({ data }) =>
      toText({
        data: data.map(({ id, at, action, actor, target, address, request_id, details }) => ({
          ...{ at, action, actor: `${actor.type} ${actor.name}`, target, address, request_id, id },
          details: JSON.stringify(details),
        })),
      }),
  }),
];
