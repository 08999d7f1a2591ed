import { SECOND } from "../../runtime/durations.ts";
import { isPlatformId } from "../../runtime/ids.ts";
import { asObject, type Fields, numberOf, omitNullish, textOf } from "../bodies.ts";
import type { PlatformClient } from "../client/client.ts";
import { platformSender } from "../client/sender.ts";
import { unusableAnswer } from "../errors/failure.ts";
import { type AdAccess, accountSender } from "./access.ts";

/** An ad account as the platform describes it, with the nested business flattened. */
export interface PlatformAdAccount {
  /** Includes the `act_` prefix. */
  ad_account_id: string;
  account_id: string;
  name: string;
  account_status: number;
  currency: string;
  timezone_name: string;
  business_id?: string;
  business_name?: string;
}

const FIELDS =
  "id,account_id,name,account_status,currency,timezone_name,business{id,name},business_name" as const;

/** Short because callers wait for the subscription after the account is already connected. */
const SUBSCRIBE_DEADLINE_MS = 5 * SECOND;

export interface AdAccounts {
  /** Lists every account the token has access to. */
  listAll(token: string, about?: Fields): Promise<PlatformAdAccount[]>;
  read(access: AdAccess): Promise<PlatformAdAccount>;
  /** Subscribes the app's webhook to the account's events. */
  subscribe(access: AdAccess): Promise<void>;
}

export function createAdAccounts(client: PlatformClient): AdAccounts {
  return {
    async listAll(token, about = {}) {
      const rows = await platformSender(client, { token, about }).allPages("/me/adaccounts", {
        fields: FIELDS,
      });
      const accounts = rows.map(toAdAccount).filter((account) => account !== undefined);
      if (rows.length > 0 && accounts.length === 0) throw missingAccountFailure();
      return accounts;
    },
    async read(access) {
      const row = await accountSender(client, access).get(`/${access.account}`, { fields: FIELDS });
      const account = toAdAccount(row);
      if (!account) throw missingAccountFailure();
      return account;
    },
    async subscribe(access) {
      const path = `/${access.account}/subscribed_apps`;
      await accountSender(client, access).change(path, undefined, { deadline: SUBSCRIBE_DEADLINE_MS });
    },
  };
}

const missingAccountFailure = () =>
  unusableAnswer("The platform's response does not identify the ad account");

/** Undefined when the row has no valid id: such an account cannot be addressed. */
function toAdAccount(row: unknown): PlatformAdAccount | undefined {
  const fields = asObject(row);
  const business = asObject(fields.business);
  const accountId = textOf(fields.account_id) ?? textOf(fields.id)?.replace(/^act_/, "");
  if (accountId === undefined || !isPlatformId(accountId)) return undefined;
  const businessFields = {
    business_id: textOf(business.id),
    business_name: textOf(business.name) ?? textOf(fields.business_name),
  };
  return {
    ad_account_id: `act_${accountId}`,
    account_id: accountId,
    name: textOf(fields.name) ?? accountId,
    account_status: statusOf(fields.account_status),
    currency: textOf(fields.currency) ?? "",
    timezone_name: textOf(fields.timezone_name) ?? "",
    ...omitNullish(businessFields),
  };
}

const MAX_ACCOUNT_STATUS = 2 ** 31 - 1;

/** Returns 0, which is no platform status, unless the value is an integer that fits the database column. */
function statusOf(value: unknown): number {
  const status = numberOf(value);
  return status !== undefined && Number.isInteger(status) && Math.abs(status) <= MAX_ACCOUNT_STATUS
    ? status
    : 0;
}
