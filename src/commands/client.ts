import { toAuditEntry } from "../domain/tenants/audit-actors.ts";
import { deleteClient } from "../domain/tenants/delete-client.ts";
import { listAudit } from "../store/tenants/audit-log.ts";
import { createClient, listClients } from "../store/tenants/clients.ts";
import { type Command, confirmWithName, defineCommand } from "./command-line/command.ts";
import {
  DEFAULT_LISTED_ROWS,
  flag,
  OPTION,
  optional,
  parsePeriod,
  required,
} from "./command-line/options.ts";
import { readFirstRows, toText } from "./command-line/output.ts";
import { requireClient } from "./command-line/require-client.ts";

export const CLIENT_COMMANDS: readonly Command[] = [
  defineCommand({
    name: "client create",
    summary: "Create a client",
    options: { name: required(OPTION.name) },
    async run({ name }, { db }) {
      const { id } = await createClient(db, name);
      return { client_id: id };
    },
  }),
  defineCommand({
    name: "client list",
    summary: "List clients",
    options: {},
    async run(_, { db }) {
      const rows = await listClients(db);
      return { data: rows.map(({ id, name, created_at }) => ({ client_id: id, name, created_at })) };
    },
  }),
  defineCommand({
    name: "client delete",
    summary: "Delete a client and all its data",
    options: {
      id: required(OPTION.client),
      yes: flag("do not ask for confirmation"),
    },
    async run({ id, yes }, context) {
      // A second call continues an erasure that was interrupted.
      const { name } = await requireClient(context, id, { includeDeleted: true });
      if (!yes)
        await confirmWithName(context, name, {
          warning: `This permanently deletes "${name}" and all its data.`,
          refusal: "nothing was deleted",
        });
      const erased = await deleteClient(context.db, id);
      if (!erased)
        context.say(
          "The client is deleted. Some of its rows are left, because a transaction that began before does not end: the maintenance job erases them",
        );
      return { client_id: id, erased };
    },
  }),
];

const anyText = (about: string) => optional({ placeholder: "TEXT", about, parse: (text: string) => text });

export const AUDIT_COMMANDS: readonly Command[] = [
  defineCommand({
    name: "audit list",
    summary: "List a client's audit log, newest first",
    options: {
      client: required(OPTION.client),
      action: anyText("only this action, such as key.created"),
      actorId: anyText("only entries of this user or API key"),
      since: optional({ ...OPTION.time, about: `entries made at or after this, ${OPTION.time.about}` }),
      until: optional({ ...OPTION.time, about: "entries made at or before this" }),
      limit: optional(OPTION.limit),
    },
    async run({ client, action, actorId, since, until, limit = DEFAULT_LISTED_ROWS }, context) {
      const filters = { action, actor_id: actorId, ...parsePeriod({ since, until }) };
      await requireClient(context, client);
      const rows = await readFirstRows(context, limit, (page) =>
        listAudit(context.db, client, { page, ...filters }),
      );
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
