import type { TObject } from "./types.ts";

/**
 * Converts query and path strings to the types of their schema, in place, and fills in defaults. Only plain decimal
 * integers are converted: `1e3`, `0x10`, ` 5` and `Infinity` stay strings, which the validator rejects.
 */
export function coerceStrings(schema: TObject, values: Record<string, unknown>): void {
  for (const [name, property] of Object.entries(schema.properties)) {
    const value = values[name];
    if (value === undefined && property.default !== undefined) values[name] = property.default;
    else if (typeof value === "string") values[name] = coerce(value, property.type);
  }
}

function coerce(text: string, type: unknown): unknown {
  if (type === "integer" && /^-?\d{1,15}$/.test(text)) return Number(text);
  if (type === "boolean" && (text === "true" || text === "false")) return text === "true";
  return text;
}
