import type { AdAccount } from "../../built-in-assets.ts";
import type { GraphError } from "../../wire/graph-error.ts";
import { type RefusalName, refuse } from "../refusals.ts";
import type { Reader, Values } from "../values.ts";
import { effectiveStatus } from "./effective-status.ts";
import type { AdObject, AdObjects, ObjectKind } from "./objects.ts";

/** An object as it would become. */
export interface Draft {
  objects: AdObjects;
  account: AdAccount;
  values: Values;
  /** What the call says of it. */
  changes: Values;
  /** Absent for a new one. */
  before?: AdObject;
}

/** Why the platform would not have it, if it would not. */
export type Rule = (draft: Draft) => GraphError | undefined;

type FieldGetter = (object: AdObject, objects: AdObjects) => unknown;

/** One kind of ad object: what can be said of it, what must be, and what is shown. */
export interface AdKind {
  kind: ObjectKind;
  /** What messages call it. */
  type: string;
  params: Readonly<Record<string, Reader>>;
  /** Without these there is none. */
  required: readonly string[];
  /** These can be said only once. */
  immutable: readonly string[];
  defaults: Values;
  rules: readonly Rule[];
  /** What is shown beside the parameters, or in their place. */
  computedFields: Readonly<Record<string, FieldGetter>>;
  /** What is shown beside the id to whoever does not ask. */
  defaultFields: readonly string[];
  /** While its status is this, only its name can be changed. */
  frozen: Readonly<Record<string, RefusalName>>;
}

/** What campaigns, ad sets and ads have in common. */
export const DELIVERY_FIELDS = {
  effective_status: (object, objects) => effectiveStatus(objects, object),
  configured_status: ({ values }) => values.status,
  created_time: ({ created }) => created,
  updated_time: ({ updated }) => updated,
} satisfies Record<string, FieldGetter>;

export const requireActiveOrPaused: Rule = ({ before, values }) =>
  before || values.status === "ACTIVE" || values.status === "PAUSED" ? undefined : refuse("unfitStatus");
