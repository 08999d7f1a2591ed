import { type Static, type TObject, type TProperties, type TSchema, Type } from "@sinclair/typebox";

/** TypeBox as the rest of the house uses it: the schema is plain JSON Schema, its type is derived from it. */
export { type Static, type TObject, type TProperties, type TSchema, Type };

interface SchemaOptions {
  /** Makes it a part of its own in the documentation, under this name. */
  title?: string;
  description?: string;
  /** Shown in the documentation, the first above all. A text without a format needs one. */
  examples?: readonly unknown[];
  /** Said instead of the validator's own words when this schema does not hold. */
  "x-message"?: string;
  /** Answered instead of `validation_failed` then. */
  "x-code"?: string;
}

/** A condition across the fields of an object: about which field, the sentence said when it does not hold, the schema. */
export const rule = (field: string, message: string, schema: object) => ({
  ...schema,
  "x-field": field,
  "x-message": message,
});

/** Where the first holds, the second must. */
// biome-ignore lint/suspicious/noThenProperty: a keyword of JSON Schema
export const implies = (condition: object, consequence: object) => ({ if: condition, then: consequence });

interface ObjectOptions extends SchemaOptions {
  allOf?: object[];
}

/** An object whose fields are listed: any other field is refused by name. */
export const object = <P extends TProperties>(properties: P, options: ObjectOptions = {}) =>
  Type.Object(properties, { additionalProperties: false, ...options });

/** An object of which only some fields are looked at: all others pass through. */
export const openObject = <P extends TProperties>(properties: P, options: ObjectOptions = {}) =>
  Type.Object(properties, { additionalProperties: true, ...options });

export const timestamp = (options: SchemaOptions = {}) =>
  Type.String({ format: "date-time", examples: ["2026-11-01T09:30:00.000Z"], ...options });

export const nullable = <S extends TSchema>(schema: S) => Type.Union([schema, Type.Null()]);

export const prefixedId = (prefix: string, options: SchemaOptions = {}) =>
  Type.String({
    pattern: `^${prefix}_[0-9a-hjkmnp-tv-z]{26}$`,
    examples: [`${prefix}_01jc8m4t7v2x5k9w3r6y1b0nqd`],
    ...options,
  });

/** A closed set of words, written once as an `as const` list. */
export const oneOf = <const T extends string>(words: readonly T[], options: SchemaOptions = {}) =>
  Type.Unsafe<T>({ type: "string", enum: [...words], ...options });

/** The query of an address to which callers append all kinds of things: probes, pages, assets. */
export const anyQuery = Type.Object({}, { additionalProperties: true });
