import { LRUCache } from "lru-cache";
import type { PlatformClient } from "../client/client.ts";
import { textOf } from "../client/json-values.ts";
import { ambiguousFailure, PlatformFailure } from "../errors/failure.ts";
import { type AdAccess, accountSender, withoutActPrefix } from "./access.ts";

/** Which account an object belongs to. One token may reach accounts of several clients, so the token alone proves nothing. */
export interface Ownership {
  /** Throws as if the object did not exist unless it belongs to the account. */
  check(access: AdAccess, id: string): Promise<void>;
  /** The same for an object that was read with its `account_id`, which is remembered. */
  confirm(access: AdAccess, id: string, accountId: unknown): void;
  /** The id of what was just created there, remembered as the account's. */
  remember(access: AdAccess, id: unknown): string;
}

/** An object never moves to another account, so what is once known stays true. */
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
      if (created === undefined) throw ambiguousFailure("The platform did not name what it created");
      accountByObject.set(created, withoutActPrefix(access.account));
      return created;
    },
  };
}

const objectNotFound = () => new PlatformFailure("missing", "The ad account has no such object");
