import type { AdAccount } from "../../built-in-assets.ts";
import { newNodeId } from "../../context.ts";
import type { Values } from "../values.ts";

export const LEVELS = ["campaign", "adset", "ad"] as const;
/** What delivers: each lives in one of the kind before it. */
export type Level = (typeof LEVELS)[number];
export type ObjectKind = Level | "creative" | "image" | "video" | "report";

/** Anything that lives in an ad account. */
export interface AdObject {
  id: string;
  kind: ObjectKind;
  account: AdAccount;
  values: Values;
  created: Date;
  updated: Date;
  /** Just made, and not yet looked through by the platform. */
  inProcess: boolean;
  /** How often its budget was changed in the last hour. */
  budgetChanges: number;
}

/** Under which name an object says where it lives. */
const PARENT_FIELDS: Partial<Record<ObjectKind, string>> = { adset: "campaign_id", ad: "adset_id" };

export interface AdObjects {
  add(kind: ObjectKind, account: AdAccount, values: Values): AdObject;
  find(id: string): AdObject | undefined;
  /** Of this kind in this account; undefined for what is elsewhere, as for what is not. */
  findIn(account: AdAccount, kind: ObjectKind, id: string): AdObject | undefined;
  /** The newest first. */
  list(account: AdAccount, kind: ObjectKind): AdObject[];
  /** Itself, and what it lives in, up to the campaign. */
  lineage(object: AdObject): AdObject[];
  /** What of that kind lives in it, or is it. */
  listWithin(object: AdObject, kind: ObjectKind): AdObject[];
}

/** Everything in the ad accounts, in memory. */
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
      const rest = { created: now, updated: now, inProcess: false, budgetChanges: 0 };
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
