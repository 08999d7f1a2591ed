import {
  type Static,
  type TObject,
  type TOptional,
  type TProperties,
  type TSchema,
  Type,
} from "@sinclair/typebox";

/** The parts of TypeBox that Herald uses: schemas are plain JSON Schema, and their types are derived from them. */
export { type Static, type TObject, type TProperties, type TSchema, Type };

interface SchemaOptions {
  /** Makes the schema a named component of the OpenAPI document. */
  title?: string;
  description?: string;
  /** Examples for the documentation; the first is used in samples. A string without a format needs one. */
  examples?: readonly unknown[];
  /** Replaces the validator's message when a value does not match this schema. */
  "x-message"?: string;
  /** Replaces the error code `validation_failed` in that case. */
  "x-code"?: string;
}

/** A rule across the fields of an object. A violation is reported for `field` with `message`. */
export const rule = (field: string, message: string, schema: object) => ({
  ...schema,
  "x-field": field,
  "x-message": message,
});

/** When `condition` matches, `consequence` must match too. */
// biome-ignore lint/suspicious/noThenProperty: a keyword of JSON Schema
export const implies = (condition: object, consequence: object) => ({ if: condition, then: consequence });

/**
 * Fields of an object by the value of its field `tag`, for generated clients only: the validator ignores them, because
 * platforms add values. The last variant stands for all values that no other names.
 */
export interface Variants {
  tag: string;
  variants: readonly TObject[];
}

interface ObjectOptions extends SchemaOptions {
  allOf?: object[];
  "x-variants"?: Variants;
  /** Fields that only the creation takes; a change of one is reported as such. */
  "x-fixed"?: readonly string[];
}

/** An object that accepts only the listed fields; another field is reported by name. */
export const object = <P extends TProperties>(properties: P, options: ObjectOptions = {}) =>
  Type.Object(properties, { additionalProperties: false, ...options });

/** An object that checks the listed fields and accepts all others. */
export const openObject = <P extends TProperties>(properties: P, options: ObjectOptions = {}) =>
  Type.Object(properties, { additionalProperties: true, ...options });

/** A text with an example, which every text of the documentation needs. */
export const text = (example: string, description?: string) =>
  Type.String({ examples: [example], ...(description ? { description } : {}) });

export const timestamp = (options: SchemaOptions = {}) =>
  Type.String({ format: "date-time", maxLength: 64, examples: ["2026-11-01T09:30:00.000Z"], ...options });

export const nullable = <S extends TSchema>(schema: S) => Type.Union([schema, Type.Null()]);

export const prefixedId = (prefix: string, options: SchemaOptions = {}) =>
  Type.String({
    pattern: `^${prefix}_[0-9a-hjkmnp-tv-z]{26}$`,
    examples: [`${prefix}_01jc8m4t7v2x5k9w3r6y1b0nqd`],
    ...options,
  });

/** A closed set of strings, defined once as an `as const` list. */
export const oneOf = <const T extends string>(words: readonly T[], options: SchemaOptions = {}) =>
  Type.Unsafe<T>({ type: "string", enum: [...words], ...options });

/** Strings that a platform may extend: the known words are documented, others are valid too. */
export const knownOrOther = (known: TSchema) => Type.Unsafe<string>({ anyOf: [known, { type: "string" }] });

/**
 * One of several objects, chosen by the value of the field `tag`, which each defines as a constant. The validator reports
 * only the problems of the chosen one.
 */
export const discriminated = (tag: string, variants: readonly TSchema[], options: ObjectOptions = {}) =>
  Type.Unsafe<object>({
    type: "object",
    required: [tag],
    discriminator: { propertyName: tag },
    oneOf: [...variants],
    ...options,
  });

/** Makes every field optional. */
export const optional = <P extends TProperties>(fields: P) =>
  Object.fromEntries(Object.entries(fields).map(([name, field]) => [name, Type.Optional(field)])) as {
    [N in keyof P]: TOptional<P[N]>;
  };

/** Accepts any query, for URLs to which callers append parameters: probes, views, assets. */
export const anyQuery = Type.Object({}, { additionalProperties: true });
