import { type Fields, formBody } from "../client/body.ts";
import type { PlatformClient } from "../client/client.ts";
import type { ListPageRequest, PlatformListPage } from "../client/list-pages.ts";
import { type AdAccess, accountSender } from "./access.ts";
import { type AdObjectKind, OBJECT_KINDS } from "./object-kinds.ts";
import type { Ownership } from "./ownership.ts";

interface ListRequest extends ListPageRequest {
  /** Lists only the objects under this campaign or ad set. */
  parent?: string | undefined;
  /** Filters by configured status, not by effective status. */
  status?: string | undefined;
}

/** Campaigns, ad sets, ads and creatives; OBJECT_KINDS holds the differences. */
export interface AdObjects {
  /** Returns the new object's id. */
  create(access: AdAccess, kind: AdObjectKind, fields: Fields): Promise<string>;
  update(access: AdAccess, id: string, fields: Fields): Promise<void>;
  read(access: AdAccess, kind: AdObjectKind, id: string): Promise<Fields>;
  list(access: AdAccess, kind: AdObjectKind, request?: ListRequest): Promise<PlatformListPage>;
}

export function createAdObjects(client: PlatformClient, ownership: Ownership): AdObjects {
  return {
    async create(access, kind, fields) {
      const body = formBody(OBJECT_KINDS[kind].withDefaults(fields));
      const { id } = await accountSender(client, access).create(`/${access.account}/${kind}`, body);
      return ownership.remember(access, id);
    },
    async update(access, id, fields) {
      await ownership.check(access, id);
      await accountSender(client, access).change(`/${id}`, formBody(fields));
    },
    async read(access, kind, id) {
      const fields = [...OBJECT_KINDS[kind].fields, "account_id"].join();
      const { account_id, ...row } = await accountSender(client, access).get(`/${id}`, { fields });
      ownership.confirm(access, id, account_id);
      return OBJECT_KINDS[kind].normalize(row);
    },
    async list(access, kind, { parent, status, ...page } = {}) {
      if (parent !== undefined) await ownership.check(access, parent);
      const query = { fields: OBJECT_KINDS[kind].fields.join(), ...effectiveStatusFilter(status) };
      const path = `/${parent ?? access.account}/${kind}`;
      const found = await accountSender(client, access).page(path, query, page);
      const items = status === undefined ? found.items : found.items.filter((row) => row.status === status);
      return { ...found, items: items.map(OBJECT_KINDS[kind].normalize) };
    },
  };
}

/**
 * The platform filters only by effective status and hides deleted and archived objects unless asked for them.
 * `list` filters by configured status, so a page may be short and still have a next page.
 */
const effectiveStatusFilter = (status: string | undefined): Fields =>
  status === "DELETED" || status === "ARCHIVED" ? { effective_status: [status] } : {};
