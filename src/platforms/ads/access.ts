import { LRUCache } from "lru-cache";
import { type Fields, textOf } from "../bodies.ts";
import type { PlatformClient } from "../client/client.ts";
import { type PlatformSender, platformSender } from "../client/sender.ts";
import { ambiguousFailure, isInvalid, PlatformFailure } from "../errors/failure.ts";

/** An ad account and a token that has access to it. */
export interface AdAccess {
  /** Includes the `act_` prefix. */
  account: string;
  token: string;
  /** Ids that identify the call in the log. */
  about?: Fields;
}

const withoutActPrefix = (account: string): string => account.replace(/^act_/, "");

/** Calls the platform with the account's token; `useCase` names the quota its calls count against. */
export const accountSender = (
  client: PlatformClient,
  { account, token, about }: AdAccess,
  useCase: "ads_management" | "ads_insights" = "ads_management",
): PlatformSender =>
  platformSender(client, {
    token,
    owner: "ad_account",
    quota: { asset: withoutActPrefix(account), useCase },
    about: { ...about, ad_account: account },
  });

interface Finding {
  accountId: unknown;
  ownField?: string | undefined;
}

/**
 * Checks which account an object belongs to: one token may have access to accounts of several clients. With
 * `ownField`, a field that only objects of one kind have, the object must also be of that kind.
 */
export interface Ownership {
  /** Throws "missing" unless the object belongs to the account. */
  check(access: AdAccess, id: string, ownField?: string): Promise<void>;
  /** Does the same with an `account_id` that was already read, and caches it. */
  confirm(access: AdAccess, id: string, finding: Finding): void;
  /** Caches the account as owner of a newly created object and returns the object's id. */
  remember(access: AdAccess, id: unknown, ownField?: string): string;
}

/** Entries never go stale: an object cannot move to another account. */
const MAX_CACHED_OWNERS = 50_000;

export function createOwnership(client: PlatformClient): Ownership {
  // `maxSize` instead of `max`: with `max` the cache would allocate room for all entries up front.
  const accountByObject = new LRUCache<string, string>({
    maxSize: MAX_CACHED_OWNERS,
    sizeCalculation: () => 1,
  });
  const keyOf = (id: string, ownField = "") => `${id} ${ownField}`;

  function store(id: string, owner: string, ownField?: string): void {
    accountByObject.set(keyOf(id), owner);
    if (ownField !== undefined) accountByObject.set(keyOf(id, ownField), owner);
  }

  const confirm: Ownership["confirm"] = (access, id, { accountId, ownField }) => {
    const owner = textOf(accountId);
    if (owner !== undefined) store(id, owner, ownField);
    if (owner !== withoutActPrefix(access.account)) throw objectNotFound();
  };

  return {
    confirm,
    async check(access, id, ownField) {
      if (!/^\d+$/.test(id)) throw objectNotFound();
      const known = accountByObject.get(keyOf(id, ownField));
      if (known !== undefined) return confirm(access, id, { accountId: known, ownField });
      const fields = ownField === undefined ? "account_id" : `account_id,${ownField}`;
      const read = accountSender(client, access).get(`/${id}`, { fields });
      const { account_id } = await read.catch(throwOtherKind);
      confirm(access, id, { accountId: account_id, ownField });
    },
    remember(access, id, ownField) {
      const created = textOf(id);
      if (created === undefined) throw ambiguousFailure("The platform returned no id for the created object");
      store(created, withoutActPrefix(access.account), ownField);
      return created;
    },
  };
}

/** The platform rejects a field that objects of another kind do not have. */
function throwOtherKind(error: unknown): never {
  throw isInvalid(error) ? objectNotFound() : error;
}

const objectNotFound = () => new PlatformFailure("missing", "The ad account has no such object");
