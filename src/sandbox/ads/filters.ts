import type { Call } from "../wire/call.ts";
import { invalidParameter } from "../wire/graph-error.ts";
import { effectiveStatus, isGone } from "./effective-status.ts";
import type { AdObject, AdObjects } from "./objects.ts";

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

const among = (value: string | number, wanted: unknown) =>
  [wanted].flat().map(String).includes(String(value));
const contains = (value: string | number, wanted: unknown) =>
  String(value).toLowerCase().includes(String(wanted).toLowerCase());

const OPERATORS: Readonly<Record<string, (value: string | number, wanted: unknown) => boolean>> = {
  EQUAL: among,
  NOT_EQUAL: (value, wanted) => !among(value, wanted),
  IN: among,
  NOT_IN: (value, wanted) => !among(value, wanted),
  CONTAIN: contains,
  NOT_CONTAIN: (value, wanted) => !contains(value, wanted),
  GREATER_THAN: (value, wanted) => Number(value) > Number(wanted),
  LESS_THAN: (value, wanted) => Number(value) < Number(wanted),
};

const FIELD = /^(?:(campaign|adset|ad)\.)?(\w+)$/;

/** Anything, so that its properties can be asked for. */
const asRecord = (value: unknown) => Object(value) as Record<string, unknown>;

function readFilter(filter: unknown, objects: AdObjects): Visible {
  const { field, operator, value } = asRecord(filter);
  const [, owner, name = ""] = FIELD.exec(String(field)) ?? [];
  const attribute = ATTRIBUTES[name];
  if (!attribute) throw invalidParameter(`Filtering field '${field}' with operation is not supported`);
  const compare = OPERATORS[String(operator)];
  if (!compare)
    throw invalidParameter(`Param filtering[operator] must be one of {${Object.keys(OPERATORS)}}`);
  return (object) => {
    const owning = owner ? objects.lineage(object).find(({ kind }) => kind === owner) : object;
    return owning !== undefined && compare(attribute(owning, objects), value);
  };
}

/** The objects that pass every condition of `filtering`. */
export function filtered(call: Call, objects: AdObjects): Visible {
  const filters = (call.params.list("filtering") ?? []).map((filter) => readFilter(filter, objects));
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

const asksForStatus = (call: Call) =>
  call.params.has("effective_status") ||
  (call.params.list("filtering") ?? []).some((filter) => /status/.test(String(asRecord(filter).field)));

/** What a list shows. Without a word about the status, what is deleted or archived stays hidden. */
export function shownOnly(call: Call, objects: AdObjects): Visible {
  const passes = filtered(call, objects);
  const statuses = call.params.list("effective_status")?.map(String);
  const stray = statuses?.find((status) => !EFFECTIVE_STATUSES.includes(status));
  if (stray)
    throw invalidParameter(`Param effective_status must be of {${EFFECTIVE_STATUSES}} - got "${stray}"`);
  const all = asksForStatus(call);
  return (object) => {
    const status = effectiveStatus(objects, object);
    return passes(object) && (all || !isGone(status)) && (statuses?.includes(status) ?? true);
  };
}
