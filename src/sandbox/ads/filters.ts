import { ownProperty } from "../own-property.ts";
import type { Call } from "../wire/call.ts";
import { invalidParameter } from "../wire/graph-error.ts";
import { plainText } from "../wire/plain-text.ts";
import { effectiveStatus, isRemoved } from "./objects/effective-status.ts";
import type { AdObject, AdObjects } from "./objects/objects.ts";

type ObjectFilter = (object: AdObject) => boolean;
type Attribute = (object: AdObject, objects: AdObjects) => string | number;

const toUnixSeconds = (instant: Date) => Math.floor(instant.getTime() / 1000);

/** Fields to filter by; the prefix `campaign.`, `adset.` or `ad.` selects the ancestor of that kind. */
const ATTRIBUTES: Readonly<Record<string, Attribute>> = {
  id: ({ id }) => id,
  name: ({ values }) => String(values.name ?? ""),
  status: ({ values }) => String(values.status),
  configured_status: ({ values }) => String(values.status),
  effective_status: (object, objects) => effectiveStatus(objects, object),
  objective: ({ values }) => String(values.objective),
  created_time: ({ created }) => toUnixSeconds(created),
  updated_time: ({ updated }) => toUnixSeconds(updated),
};

/** Compares a value with the expected values; a single expected value is a list of one. */
type Comparison = (value: string | number, expected: readonly string[]) => boolean;

const isAmong: Comparison = (value, expected) => expected.includes(String(value));
const contains: Comparison = (value, expected) =>
  String(value).toLowerCase().includes(expected.join().toLowerCase());

const OPERATORS: Readonly<Record<string, Comparison>> = {
  EQUAL: isAmong,
  NOT_EQUAL: (value, expected) => !isAmong(value, expected),
  IN: isAmong,
  NOT_IN: (value, expected) => !isAmong(value, expected),
  CONTAIN: contains,
  NOT_CONTAIN: (value, expected) => !contains(value, expected),
  GREATER_THAN: (value, expected) => Number(value) > Number(expected.join()),
  LESS_THAN: (value, expected) => Number(value) < Number(expected.join()),
};

const FIELD = /^(?:(campaign|adset|ad)\.)?(\w+)$/;

/** Wraps any value, so that reading its properties never throws. */
const asRecord = (value: unknown) => Object(value) as Record<string, unknown>;

/** A condition of the `filtering` parameter. */
export interface Condition {
  field: string;
  matches(value: string | number): boolean;
}

export const readConditions = ({ params }: Call): Condition[] =>
  (params.list("filtering") ?? []).map(asRecord).map(({ field, operator, value }) => {
    const compare = ownProperty(OPERATORS, plainText(operator));
    if (!compare)
      throw invalidParameter(`Param filtering[operator] must be one of {${Object.keys(OPERATORS)}}`);
    const expected = [value].flat().map(plainText);
    return { field: plainText(field), matches: (found) => compare(found, expected) };
  });

function toObjectFilter({ field, matches }: Condition, objects: AdObjects): ObjectFilter {
  const [, owner, name = ""] = FIELD.exec(field) ?? [];
  const attribute = ownProperty(ATTRIBUTES, name);
  if (!attribute) throw invalidParameter(`Filtering field '${field}' with operation is not supported`);
  return (object) => {
    const owning = owner ? objects.lineage(object).find(({ kind }) => kind === owner) : object;
    return owning !== undefined && matches(attribute(owning, objects));
  };
}

/** Returns a filter that requires all conditions. */
export function combineFilters(conditions: readonly Condition[], objects: AdObjects): ObjectFilter {
  const filters = conditions.map((condition) => toObjectFilter(condition, objects));
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

/** Reads the filter of a list. Deleted and archived objects are hidden unless the call filters by status. */
export function readVisibilityFilter(call: Call, objects: AdObjects): ObjectFilter {
  const conditions = readConditions(call);
  const passes = combineFilters(conditions, objects);
  const statuses = call.params.list("effective_status")?.map(plainText);
  const unknownStatus = statuses?.find((status) => !EFFECTIVE_STATUSES.includes(status));
  if (unknownStatus)
    throw invalidParameter(
      `Param effective_status must be of {${EFFECTIVE_STATUSES}} - got "${unknownStatus}"`,
    );
  const includesRemoved =
    call.params.has("effective_status") || conditions.some(({ field }) => /status/.test(field));
  return (object) => {
    const status = effectiveStatus(objects, object);
    return passes(object) && (includesRemoved || !isRemoved(status)) && (statuses?.includes(status) ?? true);
  };
}
