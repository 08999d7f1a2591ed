import { makeKey, revokeKey } from "../domain/tenants/api-keys.ts";
import { findApiKeyOwner, listApiKeys } from "../store/tenants/api-keys.ts";
import { CommandError, type Verb, verb } from "./command.ts";
import { clientNamed, operatorDeed } from "./operator.ts";
import { OPTION, optional, required } from "./options.ts";
import { everyPage } from "./pages.ts";

export const KEY_VERBS: readonly Verb[] = [
  verb({
    name: "key create",
    summary: "Make an API key; its text is shown this once",
    options: {
      client: required(OPTION.client),
      name: required(OPTION.name),
      scopes: required(OPTION.scopes),
      expires: optional({
        ...OPTION.duration,
        about: "ends after this time, such as 90d (never when absent)",
      }),
    },
    async run({ client, name, scopes, expires }, desk) {
      await clientNamed(desk, client);
      const expiresAt = expires === undefined ? null : new Date(Date.now() + expires);
      const wish = { name, scopes, expiresAt, production: desk.config.NODE_ENV === "production" };
      const { row, text } = await desk.db.transaction((tx) => makeKey(tx, operatorDeed(desk, client), wish));
      return { id: row.id, key: text };
    },
  }),
  verb({
    name: "key list",
    summary: "List a client's API keys, newest first",
    options: { client: required(OPTION.client) },
    async run({ client }, desk) {
      await clientNamed(desk, client);
      const rows = await everyPage((page) => listApiKeys(desk.db, client, page));
      return { data: rows.map(({ client_id, replaced_by, ...row }) => row) };
    },
  }),
  verb({
    name: "key revoke",
    summary: "Revoke an API key; every process refuses it within 5 seconds",
    options: { id: required(OPTION.key) },
    async run({ id }, desk) {
      const clientId = await findApiKeyOwner(desk.db, id);
      if (clientId === undefined) throw new CommandError(`there is no key ${id}`);
      await revokeKey(desk.db, operatorDeed(desk, clientId), id);
      return { id, revoked: true };
    },
  }),
];
