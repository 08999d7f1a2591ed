import type { AdAccount } from "../../built-in-assets.ts";
import type { GraphError } from "../../wire/graph-error.ts";
import { type RefusalName, refuse } from "../refusals.ts";
import type { Reader, Values } from "../values.ts";
import { effectiveStatus } from "./effective-status.ts";
import type { AdObject, AdObjects, ObjectKind } from "./objects.ts";

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
