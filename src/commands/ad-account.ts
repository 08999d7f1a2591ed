import { toAdAccount } from "../domain/ads/ad-accounts.ts";
import { AD_ACCOUNT_STATUSES } from "../schema/enumerations.ts";
import { listAdAccounts, listAdAccountsOfAllClients } from "../store/ads/ad-accounts.ts";
import { type Command, defineCommand } from "./command-line/command.ts";
import { OPTION, optional, parseOneOf } from "./command-line/options.ts";
import { readAllPages, toColumns } from "./command-line/output.ts";
import { requireClient } from "./command-line/require-client.ts";

export const AD_ACCOUNT_COMMANDS: readonly Command[] = [
  defineCommand({
    name: "ad-account list",
    summary: "List the ad accounts of a client or of all clients, newest first",
    options: {
      client: optional({ ...OPTION.client, about: "the client's id (default: all clients)" }),
      status: optional({
        placeholder: "STATUS",
        about: `${AD_ACCOUNT_STATUSES.join(", ")} (default: all)`,
        parse: parseOneOf(AD_ACCOUNT_STATUSES),
      }),
    },
    async run({ client, status }, context) {
      const { db } = context;
      const filters = status === undefined ? {} : { status };
      if (client !== undefined) await requireClient(context, client);
      const rows = await readAllPages((page) =>
        client === undefined
          ? listAdAccountsOfAllClients(db, { page, ...filters })
          : listAdAccounts(db, client, { page, ...filters }),
      );
      return { data: rows.map((row) => ({ client_id: row.client_id, ...toAdAccount(row) })) };
    },
    show: ({ data }) => toColumns(data, SHOWN_FIELDS),
  }),
];

const SHOWN_FIELDS = [
  "client_id",
  "id",
  "ad_account_id",
  "name",
  "status",
  "account_status_label",
  "token_expires_at",
  "last_synced_at",
] as const;
