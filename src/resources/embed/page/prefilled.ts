import type { Texts } from "./texts/shape.ts";

/** A value that the client prefilled, with its label. */
export interface PrefilledField {
  label: string;
  value: string;
}

/** Keeps the page below its size limit. */
const MAX_SHOWN_CHARACTERS = 200;

/** The prefilled values that the page shows, by their place in `prefill`. */
const SHOWN_FIELDS = [
  ["business", "name"],
  ["business", "email"],
  ["business", "website"],
  ["phone", "displayName"],
  ["phone", "category"],
] as const;

/** Picks the values that a person understands. Other parts of `prefill` go to the platform only. */
export const prefilledFields = (prefill: unknown, labels: Texts["prefill"]): PrefilledField[] =>
  SHOWN_FIELDS.flatMap(([group, name]) => {
    const value = valueAt(valueAt(prefill, group), name);
    if (typeof value !== "string" || value.trim() === "") return [];
    return [{ label: labels[name], value: value.slice(0, MAX_SHOWN_CHARACTERS) }];
  });

const valueAt = (parent: unknown, name: string): unknown =>
  typeof parent === "object" && parent !== null && Object.hasOwn(parent, name)
    ? (parent as Record<string, unknown>)[name]
    : undefined;
