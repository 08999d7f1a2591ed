import { deleteClient } from "../domain/tenants/delete-client.ts";
import { createClient, listClients } from "../store/tenants/clients.ts";
import { type Command, defineCommand } from "./program/command.ts";
import { confirmWithName, requireClient } from "./program/operator.ts";
import { flag, OPTION, required } from "./program/options.ts";

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
