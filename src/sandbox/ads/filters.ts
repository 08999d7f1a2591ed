import { own } from "../own-property.ts";
import type { Call } from "../wire/call.ts";
import { invalidParameter } from "../wire/graph-error.ts";
import { plainText } from "../wire/plain-text.ts";
import { effectiveStatus, isGone } from "./objects/effective-status.ts";
import type { AdObject, AdObjects } from "./objects/objects.ts";

type Visible = (object: AdObject) => boolean;
type Attribute = (object: AdObject, objects: AdObjects) => string | number;

const seconds = (instant: Date) => Math.floor(instant.getTime() / 1000);

/** What can be filtered by: of the object itself, or with `campaign.` before it of the campaign it lives in. */
const ATTRIBUTES: Readonly<Record<string, Attribute>> = {
  id: ({ id }) => id,
  name: ({ values }) => String(values.name ?? ""),
  status: ({ values }) => String(values.status),
  configured_status: ({ values }) => String(values.status),
  effective_status: (object, objects) => effectiveStatus(objects, object),
  objective: ({ values }) => String(values.objective),
  created_time: ({ created }) => seconds(created),
  updated_time: ({ updated }) => seconds(updated),
};

/** What is wanted is a list, of one where one was given. */
type Comparison = (value: string | number, wanted: readonly string[]) => boolean;

const among: Comparison = (value, wanted) => wanted.includes(String(value));
const contains: Comparison = (value, wanted) =>
  String(value).toLowerCase().includes(wanted.join().toLowerCase());

const OPERATORS: Readonly<Record<string, Comparison>> = {
  EQUAL: among,
  NOT_EQUAL: (value, wanted) => !among(value, wanted),
  IN: among,
  NOT_IN: (value, wanted) => !among(value, wanted),
  CONTAIN: contains,
  NOT_CONTAIN: (value, wanted) => !contains(value, wanted),
  GREATER_THAN: (value, wanted) => Number(value) > Number(wanted.join()),
  LESS_THAN: (value, wanted) => Number(value) < Number(wanted.join()),
};

const FIELD = /^(?:(campaign|adset|ad)\.)?(\w+)$/;

/** Anything, so that its properties can be asked for. */
const asRecord = (value: unknown) => Object(value) as Record<string, unknown>;

/** One condition of `filtering`. */
export interface Condition {
  field: string;
  holds(value: string | number): boolean;
}

export const conditionsOf = ({ params }: Call): Condition[] =>
  (params.list("filtering") ?? []).map(asRecord).map(({ field, operator, value }) => {
    const compare = own(OPERATORS, plainText(operator));
    if (!compare)
      throw invalidParameter(`Param filtering[operator] must be one of {${Object.keys(OPERATORS)}}`);
    const wanted = [value].flat().map(plainText);
    return { field: plainText(field), holds: (found) => compare(found, wanted) };
  });

function readCondition({ field, holds }: Condition, objects: AdObjects): Visible {
  const [, owner, name = ""] = FIELD.exec(field) ?? [];
  const attribute = own(ATTRIBUTES, name);
  if (!attribute) throw invalidParameter(`Filtering field '${field}' with operation is not supported`);
  return (object) => {
    const owning = owner ? objects.lineage(object).find(({ kind }) => kind === owner) : object;
    return owning !== undefined && holds(attribute(owning, objects));
  };
}

/** The objects that pass every condition. */
export function passing(conditions: readonly Condition[], objects: AdObjects): Visible {
  const filters = conditions.map((condition) => readCondition(condition, objects));
  return (object) => filters.every((passes) => passes(object));
}

const EFFECTIVE_STATUSES: readonly string[] = [
  "ACTIVE",
  "PAUSED",
  "DELETED",
  "ARCHIVED",
  "IN_PROCESS",
  "WITH_ISSUES",
  "CAMPAIGN_PAUSED",
  "ADSET_PAUSED",
  "DISAPPROVED",
  "PENDING_BILLING_INFO",
  "PENDING_REVIEW",
  "PREAPPROVED",
];

/** What a list shows. Without a word about the status, what is deleted or archived stays hidden. */
export function shownOnly(call: Call, objects: AdObjects): Visible {
  const conditions = conditionsOf(call);
  const passes = passing(conditions, objects);
  const statuses = call.params.list("effective_status")?.map(plainText);
  const stray = statuses?.find((status) => !EFFECTIVE_STATUSES.includes(status));
  if (stray)
    throw invalidParameter(`Param effective_status must be of {${EFFECTIVE_STATUSES}} - got "${stray}"`);
  const all = call.params.has("effective_status") || conditions.some(({ field }) => /status/.test(field));
  return (object) => {
    const status = effectiveStatus(objects, object);
    return passes(object) && (all || !isGone(status)) && (statuses?.includes(status) ?? true);
  };
}
