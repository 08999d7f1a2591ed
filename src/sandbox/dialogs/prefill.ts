import { DialogRefused } from "./consent.ts";

type Json = Record<string, unknown>;

/** What the app filled in for the person, in words. */
export function prefilledNotes(extras: string | undefined): string[] {
  if (extras === undefined) return [];
  const setup = objectAt(parsed(extras), "setup");
  const [business, phone] = [objectAt(setup, "business"), objectAt(setup, "phone")];
  return [
    ...note("Business", business.name),
    ...note("Email", business.email),
    ...note("Website", business.website),
    ...note("Display name", phone.displayName),
    ...note("Category", phone.category),
  ];
}

function parsed(text: string): Json {
  try {
    const value: unknown = JSON.parse(text);
    if (isObject(value)) return value;
  } catch {
    // said below
  }
  throw new DialogRefused("The extras are not a JSON object.");
}

const isObject = (value: unknown): value is Json =>
  typeof value === "object" && value !== null && !Array.isArray(value);

function objectAt(parent: Json, name: string): Json {
  const value = parent[name] ?? {};
  if (!isObject(value)) throw new DialogRefused(`In the extras ${name} is not an object.`);
  return value;
}

function note(label: string, value: unknown): string[] {
  if (value === undefined || value === null || value === "") return [];
  if (typeof value !== "string") throw new DialogRefused(`In the extras ${label} is not a text.`);
  return [`${label}: ${value}`];
}
