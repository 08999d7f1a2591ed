import type { Call } from "../wire/call.ts";
import { checkFields, project } from "../wire/fields.ts";
import { toListPage } from "../wire/list-page.ts";
import { readVisibilityFilter } from "./filters.ts";
import type { AdKind } from "./objects/ad-kind.ts";
import type { AdObject, AdObjects } from "./objects/objects.ts";
import { formatTimeIn } from "./times.ts";
import type { Values } from "./values.ts";

const MAX_OBJECTS_PER_PAGE = 500;

export interface ObjectReader {
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
    const formatTime = call.params.text("date_format") === "U" ? toUnixSeconds : formatTimeIn;
    const dated = Object.entries(values).map(([name, value]) => [
      name,
      value instanceof Date ? formatTime(object.account.timezone_name, value) : value,
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

const toUnixSeconds = (_zone: string, instant: Date): number => Math.floor(instant.getTime() / 1000);
