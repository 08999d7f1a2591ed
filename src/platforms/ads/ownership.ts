import { LRUCache } from "lru-cache";
import type { PlatformClient } from "../client/client.ts";
import { textOf } from "../client/json-values.ts";
import { ambiguousFailure, PlatformFailure } from "../errors/failure.ts";
import { type AdAccess, accountSender, withoutActPrefix } from "./access.ts";

/** Checks which account an object belongs to: one token may have access to accounts of several clients. */
export interface Ownership {
  /** Throws "not found" unless the object belongs to the account. */
  check(access: AdAccess, id: string): Promise<void>;
  /** Does the same with an `account_id` that was already read, and caches it. */
  confirm(access: AdAccess, id: string, accountId: unknown): void;
  /** Caches the account as owner of a newly created object and returns the object's id. */
  remember(access: AdAccess, id: unknown): string;
}

/** Entries never go stale: an object cannot move to another account. */
const MAX_CACHED_OWNERS = 50_000;

export function createOwnership(client: PlatformClient): Ownership {
  const accountByObject = new LRUCache<string, string>({ max: MAX_CACHED_OWNERS });
  const confirm = (access: AdAccess, id: string, accountId: unknown) => {
    const owner = textOf(accountId);
    if (owner !== undefined) accountByObject.set(id, owner);
    if (owner !== withoutActPrefix(access.account)) throw objectNotFound();
  };
  return {
    confirm,
    async check(access, id) {
      if (!/^\d+$/.test(id)) throw objectNotFound();
      const known = accountByObject.get(id);
      if (known !== undefined) return confirm(access, id, known);
      const { account_id } = await accountSender(client, access).get(`/${id}`, { fields: "account_id" });
      confirm(access, id, account_id);
    },
    remember(access, id) {
      const created = textOf(id);
      if (created === undefined) throw ambiguousFailure("The platform returned no id for the created object");
      accountByObject.set(created, withoutActPrefix(access.account));
      return created;
    },
  };
}

const objectNotFound = () => new PlatformFailure("missing", "The ad account has no such object");
