import type { Call } from "../wire/call.ts";
import { checkFields, project } from "../wire/fields.ts";
import { pageOf } from "../wire/pages.ts";
import { shownOnly } from "./filters.ts";
import type { AdKind } from "./objects/ad-kind.ts";
import type { AdObject, AdObjects } from "./objects/objects.ts";
import { stampIn } from "./times.ts";
import type { Values } from "./values.ts";

const MOST = 500;

export interface Reading {
  one(kind: AdKind, object: AdObject, call: Call): unknown;
  many(kind: AdKind, objects: readonly AdObject[], call: Call): unknown;
}

/** Shows objects of any kind, as its table says. */
export function createReading(objects: AdObjects): Reading {
  const one: Reading["one"] = (kind, object, call) => {
    const fields = call.params.words("fields");
    checkFields(fields, kind.type, ["account_id", ...Object.keys(kind.params), ...Object.keys(kind.shown)]);
    return project(everything(kind, object, call), fields, kind.byDefault);
  };
  const everything = (kind: AdKind, object: AdObject, call: Call): Values => {
    const shown = Object.entries(kind.shown).map(([name, show]) => [name, show(object, objects)]);
    const values = { ...object.values, ...Object.fromEntries(shown) };
    const write = call.params.text("date_format") === "U" ? inSeconds : stampIn;
    const dated = Object.entries(values).map(([name, value]) => [
      name,
      value instanceof Date ? write(object.account.timezone_name, value) : value,
    ]);
    return { id: object.id, account_id: object.account.id, ...Object.fromEntries(dated) };
  };
  return {
    one,
    many: (kind, items, call) =>
      pageOf(call, items, (object) => one(kind, object, call), {
        visible: shownOnly(call, objects),
        most: MOST,
      }),
  };
}

const inSeconds = (_zone: string, instant: Date): number => Math.floor(instant.getTime() / 1000);
