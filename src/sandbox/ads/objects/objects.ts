import type { AdAccount } from "../../built-in-assets.ts";
import { newNodeId } from "../../context.ts";
import type { Values } from "../values.ts";

export const LEVELS = ["campaign", "adset", "ad"] as const;
/** The delivery hierarchy: an ad belongs to an ad set, an ad set to a campaign. */
export type Level = (typeof LEVELS)[number];
export type ObjectKind = Level | "creative" | "image" | "video" | "report";

/** An object in an ad account. */
export interface AdObject {
  id: string;
  kind: ObjectKind;
  account: AdAccount;
  values: Values;
  created: Date;
  updated: Date;
  /** True while a new object is in review. */
  inProcess: boolean;
}

/** The parameter that names an object's parent. */
const PARENT_FIELDS: Partial<Record<ObjectKind, string>> = { adset: "campaign_id", ad: "adset_id" };

export interface AdObjects {
  add(kind: ObjectKind, account: AdAccount, values: Values): AdObject;
  find(id: string): AdObject | undefined;
  /** Undefined when the object is missing, of another kind or in another account. */
  findIn(account: AdAccount, kind: ObjectKind, id: string): AdObject | undefined;
  /** Newest first. */
  list(account: AdAccount, kind: ObjectKind): AdObject[];
  /** The object and its ancestors, up to the campaign. */
  lineage(object: AdObject): AdObject[];
  /** Objects of the kind below this object, including itself. */
  listWithin(object: AdObject, kind: ObjectKind): AdObject[];
}

/** The store of all ad objects, in memory. */
export function createObjects(): AdObjects {
  const byId = new Map<string, AdObject>();
  const find = (id: string) => byId.get(id);
  const list: AdObjects["list"] = (account, kind) =>
    [...byId.values()].filter((object) => object.account.id === account.id && object.kind === kind).reverse();
  const lineage = (object: AdObject): AdObject[] => {
    const parent = find(String(object.values[PARENT_FIELDS[object.kind] ?? ""]));
    return parent ? [object, ...lineage(parent)] : [object];
  };
  return {
    add(kind, account, values) {
      const now = new Date();
      const rest = { created: now, updated: now, inProcess: false };
      const object = { id: newNodeId(), kind, account, values, ...rest };
      byId.set(object.id, object);
      return object;
    },
    find,
    findIn(account, kind, id) {
      const object = find(id);
      return object?.kind === kind && object.account.id === account.id ? object : undefined;
    },
    list,
    lineage,
    listWithin: (object, kind) =>
      list(object.account, kind).filter((other) => lineage(other).includes(object)),
  };
}

export const nameOf = (object: AdObject): string => String(object.values.name ?? "");
