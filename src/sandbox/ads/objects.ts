import type { AdAccount } from "../built-in-assets.ts";
import { newNodeId } from "../context.ts";
import type { GraphError } from "../graph/graph-error.ts";
import { isDisapproved } from "../magic-values.ts";
import { type RefusalName, refuse } from "./refusals.ts";
import type { Reader, Values } from "./values.ts";

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

const REMOVED_STATUSES = ["DELETED", "ARCHIVED"];
const UNSETTLED_ACCOUNT_STATUS = 3;

/** Derives the effective status from the object, its ancestors and its review. */
export function effectiveStatus(objects: AdObjects, object: AdObject): string {
  const lineage = objects.lineage(object);
  const removedStatus = REMOVED_STATUSES.find((status) =>
    lineage.some(({ values }) => values.status === status),
  );
  if (removedStatus) return removedStatus;
  if (object.inProcess) return "IN_PROCESS";
  if (object.kind === "ad" && isDisapproved(nameOf(object))) return "DISAPPROVED";
  const paused = lineage.filter(({ values }) => values.status === "PAUSED");
  if (paused.includes(object)) return "PAUSED";
  const highest = paused.at(-1);
  if (highest) return `${highest.kind.toUpperCase()}_PAUSED`;
  if (object.kind === "ad" && object.account.account_status === UNSETTLED_ACCOUNT_STATUS)
    return "PENDING_BILLING_INFO";
  return "ACTIVE";
}

/** Deleted and archived objects are hidden unless they are requested. */
export const isRemoved = (status: string): boolean => REMOVED_STATUSES.includes(status);

/** An object with the call's changes applied, before it is stored. */
export interface Draft {
  objects: AdObjects;
  account: AdAccount;
  values: Values;
  /** The values that the call sets. */
  changes: Values;
  /** The existing object; absent on creation. */
  before?: AdObject;
}

/** Returns the error with which the platform rejects the draft; undefined when it is accepted. */
export type Rule = (draft: Draft) => GraphError | undefined;

type FieldGetter = (object: AdObject, objects: AdObjects) => unknown;

/** The definition of one kind of ad object: its parameters, rules and fields. */
export interface AdKind {
  kind: ObjectKind;
  /** The type's name in error messages. */
  type: string;
  params: Readonly<Record<string, Reader>>;
  /** Parameters that creation requires. */
  required: readonly string[];
  /** Parameters that cannot be changed after creation. */
  immutable: readonly string[];
  defaults: Values;
  rules: readonly Rule[];
  /** Fields shown in addition to the parameters, or replacing them. */
  computedFields: Readonly<Record<string, FieldGetter>>;
  /** Fields shown with the id when the call requests none. */
  defaultFields: readonly string[];
  /** Error by status: in these statuses only the name can be changed. */
  frozen: Readonly<Record<string, RefusalName>>;
}

/** Fields that campaigns, ad sets and ads share. */
export const DELIVERY_FIELDS = {
  effective_status: (object, objects) => effectiveStatus(objects, object),
  configured_status: ({ values }) => values.status,
  created_time: ({ created }) => created,
  updated_time: ({ updated }) => updated,
} satisfies Record<string, FieldGetter>;

export const requireActiveOrPaused: Rule = ({ before, values }) =>
  before || values.status === "ACTIVE" || values.status === "PAUSED" ? undefined : refuse("unfitStatus");
