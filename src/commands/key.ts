import { createKey, revokeKey } from "../domain/tenants/api-keys.ts";
import { findApiKeyOwner, listApiKeys } from "../store/tenants/api-keys.ts";
import { type Command, CommandError, defineCommand, operatorActor } from "./command-line/command.ts";
import { OPTION, optional, required } from "./command-line/options.ts";
import { readAllPages } from "./command-line/output.ts";
import { requireClient } from "./command-line/require-client.ts";

export const KEY_COMMANDS: readonly Command[] = [
  defineCommand({
    name: "key create",
    summary: "Create an API key; it is shown only once",
    options: {
      client: required(OPTION.client),
      name: required(OPTION.name),
      scopes: required(OPTION.scopes),
      expires: optional({
        ...OPTION.duration,
        about: "lifetime of the key, such as 90d (default: does not expire)",
      }),
    },
    async run({ client, name, scopes, expires }, context) {
      await requireClient(context, client);
      const expiresAt = expires === undefined ? null : new Date(Date.now() + expires);
      const input = { name, scopes, expiresAt, production: context.config.NODE_ENV === "production" };
      const { row, text } = await createKey(context.db, operatorActor(context, client), input);
      return { id: row.id, key: text };
    },
  }),
  defineCommand({
    name: "key list",
    summary: "List a client's API keys, newest first",
    options: { client: required(OPTION.client) },
    async run({ client }, context) {
      await requireClient(context, client);
      const rows = await readAllPages((page) => listApiKeys(context.db, client, page));
      return {
        data: rows.map(({ client_id, replaced_by, created_by, ...row }) => ({
          ...row,
          created_by: created_by?.user_id ?? null,
        })),
      };
    },
  }),
  defineCommand({
    name: "key revoke",
    summary: "Revoke an API key; every process rejects it within 5 seconds",
    options: { id: required(OPTION.key) },
    async run({ id }, context) {
      const clientId = await findApiKeyOwner(context.db, id);
      if (clientId === undefined) throw new CommandError(`there is no key ${id}`);
      await revokeKey(context.db, operatorActor(context, clientId), id);
      return { id, revoked: true };
    },
  }),
];
