import { LRUCache } from "lru-cache";
import type { PlatformClient } from "../client/client.ts";
import { textOf } from "../client/shapes.ts";
import { mayExist, PlatformFailure } from "../errors/failure.ts";
import { type AdAccess, forAccount, withoutPrefix } from "./access.ts";

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
const REMEMBERED = 50_000;

export function createOwnership(client: PlatformClient): Ownership {
  const accounts = new LRUCache<string, string>({ max: REMEMBERED });
  const confirm = (access: AdAccess, id: string, accountId: unknown) => {
    const owner = textOf(accountId);
    if (owner !== undefined) accounts.set(id, owner);
    if (owner !== withoutPrefix(access.account)) throw notOfThisAccount();
  };
  return {
    confirm,
    async check(access, id) {
      if (!/^\d+$/.test(id)) throw notOfThisAccount();
      const known = accounts.get(id);
      if (known !== undefined) return confirm(access, id, known);
      const { account_id } = await forAccount(client, access).get(`/${id}`, { fields: "account_id" });
      confirm(access, id, account_id);
    },
    remember(access, id) {
      const created = textOf(id);
      if (created === undefined) throw mayExist("The platform did not name what it created");
      accounts.set(created, withoutPrefix(access.account));
      return created;
    },
  };
}

const notOfThisAccount = () =>
  new PlatformFailure("platform_object_not_found", "The ad account has no such object", { retryable: false });
