import { createClient, deleteClient, listClients } from "../store/tenants/clients.ts";
import { CommandError, type Verb, verb } from "./command.ts";
import { clientNamed } from "./operator.ts";
import { flag, OPTION, required } from "./options.ts";

export const CLIENT_VERBS: readonly Verb[] = [
  verb({
    name: "client create",
    summary: "Make a client",
    options: { name: required(OPTION.name) },
    async run({ name }, { db }) {
      const { id } = await createClient(db, name);
      return { client_id: id };
    },
  }),
  verb({
    name: "client list",
    summary: "List the clients",
    options: {},
    async run(_, { db }) {
      const rows = await listClients(db);
      return { data: rows.map(({ id, name, created_at }) => ({ client_id: id, name, created_at })) };
    },
  }),
  verb({
    name: "client delete",
    summary: "Erase a client and everything of it",
    options: {
      id: required(OPTION.client),
      yes: flag("do not ask for the client's name first"),
    },
    async run({ id, yes }, desk) {
      const { name } = await clientNamed(desk, id);
      if (!yes) {
        desk.say(`This erases everything of "${name}", for good. Type its name to go on:`);
        if ((await desk.readLine()) !== name)
          throw new CommandError("that is not its name; nothing was erased");
      }
      await deleteClient(desk.db, id);
      return { client_id: id, erased: true };
    },
  }),
];
