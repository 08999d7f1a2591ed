import { DialogError } from "./consent.ts";

type JsonObject = Record<string, unknown>;

/** Formats the values that the app prefilled for the person. */
export function prefilledNotes(extras: string | undefined): string[] {
  if (extras === undefined) return [];
  const setup = objectAt(parseExtras(extras), "setup");
  const [business, phone] = [objectAt(setup, "business"), objectAt(setup, "phone")];
  return [
    ...note("Business", business.name),
    ...note("Email", business.email),
    ...note("Website", business.website),
    ...note("Display name", phone.displayName),
    ...note("Category", phone.category),
  ];
}

function parseExtras(text: string): JsonObject {
  try {
    const value: unknown = JSON.parse(text);
    if (isObject(value)) return value;
  } catch {
    // reported below
  }
  throw new DialogError("extras must be a JSON object.");
}

const isObject = (value: unknown): value is JsonObject =>
  typeof value === "object" && value !== null && !Array.isArray(value);

function objectAt(parent: JsonObject, name: string): JsonObject {
  const value = parent[name] ?? {};
  if (!isObject(value)) throw new DialogError(`In extras, ${name} must be an object.`);
  return value;
}

function note(label: string, value: unknown): string[] {
  if (value === undefined || value === null || value === "") return [];
  if (typeof value !== "string") throw new DialogError(`In extras, ${label} must be a string.`);
  return [`${label}: ${value}`];
}
