import { createClient, deleteClient, listClients } from "../store/tenants/clients.ts";
import { type Command, CommandError, defineCommand } from "./command.ts";
import { requireClient } from "./operator.ts";
import { flag, OPTION, required } from "./options.ts";

export const CLIENT_COMMANDS: readonly Command[] = [
  defineCommand({
    name: "client create",
    summary: "Make a client",
    options: { name: required(OPTION.name) },
    async run({ name }, { db }) {
      const { id } = await createClient(db, name);
      return { client_id: id };
    },
  }),
  defineCommand({
    name: "client list",
    summary: "List the clients",
    options: {},
    async run(_, { db }) {
      const rows = await listClients(db);
      return { data: rows.map(({ id, name, created_at }) => ({ client_id: id, name, created_at })) };
    },
  }),
  defineCommand({
    name: "client delete",
    summary: "Erase a client and everything of it",
    options: {
      id: required(OPTION.client),
      yes: flag("do not ask for the client's name first"),
    },
    async run({ id, yes }, context) {
      const { name } = await requireClient(context, id);
      if (!yes) {
        context.say(`This erases everything of "${name}", for good. Type its name to go on:`);
        if ((await context.readLine()) !== name)
          throw new CommandError("that is not its name; nothing was erased");
      }
      await deleteClient(context.db, id);
      return { client_id: id, erased: true };
    },
  }),
];
