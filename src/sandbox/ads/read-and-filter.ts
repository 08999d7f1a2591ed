import { checkFields, project, toListPage } from "../graph/fields-and-lists.ts";
import { invalidParameter } from "../graph/graph-error.ts";
import type { Call } from "../graph/node.ts";
import { ownProperty, plainText } from "../graph/params.ts";
import { type AdKind, type AdObject, type AdObjects, effectiveStatus, isRemoved, nameOf } from "./objects.ts";
import { formatTimeIn, type Values } from "./values.ts";

const MAX_OBJECTS_PER_PAGE = 500;

interface ObjectReader {
  show(kind: AdKind, object: AdObject, call: Call): unknown;
  list(kind: AdKind, objects: readonly AdObject[], call: Call): unknown;
}

/** Renders objects of any kind by the kind's definition. */
export function createObjectReader(objects: AdObjects): ObjectReader {
  const show: ObjectReader["show"] = (kind, object, call) => {
    const fields = call.params.words("fields");
    checkFields(fields, kind.type, [
      "account_id",
      ...Object.keys(kind.params),
      ...Object.keys(kind.computedFields),
    ]);
    return project(toFields(kind, object, call), fields, kind.defaultFields);
  };
  const toFields = (kind: AdKind, object: AdObject, call: Call): Values => {
    const computed = Object.entries(kind.computedFields).map(([name, show]) => [name, show(object, objects)]);
    const values = { ...object.values, ...Object.fromEntries(computed) };
    const zone = object.account.timezone_name;
    const isUnixFormat = call.params.text("date_format") === "U";
    const formatTime = (time: Date) => (isUnixFormat ? toUnixSeconds(time) : formatTimeIn(zone, time));
    const dated = Object.entries(values).map(([name, value]) => [
      name,
      value instanceof Date ? formatTime(value) : value,
    ]);
    return { id: object.id, account_id: object.account.id, ...Object.fromEntries(dated) };
  };
  return {
    show,
    list: (kind, items, call) =>
      toListPage(call, items, (object) => show(kind, object, call), {
        isVisible: readVisibilityFilter(call, objects),
        maxLimit: MAX_OBJECTS_PER_PAGE,
      }),
  };
}

const toUnixSeconds = (instant: Date) => Math.floor(instant.getTime() / 1000);

type ObjectFilter = (object: AdObject) => boolean;

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
function readVisibilityFilter(call: Call, objects: AdObjects): ObjectFilter {
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

type Attribute = (object: AdObject, objects: AdObjects) => string | number;

/** Fields to filter by; the prefix `campaign.`, `adset.` or `ad.` selects the ancestor of that kind. */
const ATTRIBUTES: Readonly<Record<string, Attribute>> = {
  id: ({ id }) => id,
  name: nameOf,
  status: ({ values }) => String(values.status),
  configured_status: ({ values }) => String(values.status),
  effective_status: (object, objects) => effectiveStatus(objects, object),
  objective: ({ values }) => String(values.objective),
  created_time: ({ created }) => toUnixSeconds(created),
  updated_time: ({ updated }) => toUnixSeconds(updated),
};

const FILTER_FIELD = /^(?:(campaign|adset|ad)\.)?(\w+)$/;

function toObjectFilter({ field, matches }: Condition, objects: AdObjects): ObjectFilter {
  const [, owner, name = ""] = FILTER_FIELD.exec(field) ?? [];
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
