import type { TSchema } from "../../schema/types.ts";

/** The JSON Schema keywords from which examples are built. */
interface Shape {
  type?: string;
  format?: string;
  examples?: readonly unknown[];
  default?: unknown;
  const?: unknown;
  enum?: readonly unknown[];
  anyOf?: readonly TSchema[];
  oneOf?: readonly TSchema[];
  allOf?: readonly TSchema[];
  properties?: Record<string, TSchema>;
  additionalProperties?: unknown;
  items?: TSchema;
  prefixItems?: readonly TSchema[];
  minItems?: number;
  minimum?: number;
  maximum?: number;
  exclusiveMinimum?: number;
  exclusiveMaximum?: number;
  multipleOf?: number;
}

type Maker = (shape: Shape, path: string) => unknown;

/**
 * Returns a valid and meaningful example of the schema. Throws an error that names `path` when there is none.
 */
export function exampleOf(schema: TSchema, path: string): unknown {
  const shape = schema as Shape;
  const [given] = givenValues(shape);
  if (given !== undefined) return given;
  const [branch] = branchesOf(shape);
  if (branch) return exampleOf(branch, path);
  const make = MAKERS[shape.type ?? ""] ?? throwMissingExample;
  return make(shape, path);
}

/** Values that the schema itself provides, the most specific first. */
const givenValues = (shape: Shape): unknown[] =>
  [shape.examples?.[0], shape.default, shape.const, shape.enum?.[0]].filter((value) => value !== undefined);

const isNull = (schema: TSchema) => (schema as Shape).type === "null";

/** The branches of a union, without null. */
function branchesOf(shape: Shape): readonly TSchema[] {
  const branches = shape.anyOf ?? shape.oneOf ?? [];
  return shape.properties ? [] : branches.filter((branch) => !isNull(branch));
}

/** The schema must provide an example text: a generated one would be "string" throughout the document. */
function throwMissingExample(_shape: Shape, path: string): never {
  throw new Error(`${path} needs an example: give its schema "examples"`);
}

/** Examples of string formats. */
const FORMATS: Readonly<Record<string, string>> = {
  "date-time": "2026-11-01T09:30:00.000Z",
  date: "2026-11-01",
  email: "ada@customer.example",
  uri: "https://customer.example/path",
  uuid: "3f0c9a52-6b1e-4d47-9c58-2a7e10b6d4f3",
};

const MAKERS: Readonly<Record<string, Maker>> = {
  string: (shape, path) => FORMATS[shape.format ?? ""] ?? throwMissingExample(shape, path),
  integer: (shape) => numberWithin(shape, 1),
  number: (shape) => numberWithin(shape, 0.01),
  boolean: () => true,
  null: () => null,
  array: arrayExample,
  object: objectExample,
};

/** Returns 1 or the closest value within the bounds; `step` is the distance to an exclusive bound. */
function numberWithin(shape: Shape, step: number): number {
  const { minimum = -Infinity, maximum = Infinity, exclusiveMinimum, exclusiveMaximum, multipleOf } = shape;
  const min = Math.max(minimum, (exclusiveMinimum ?? -Infinity) + step);
  const max = Math.min(maximum, (exclusiveMaximum ?? Infinity) - step);
  const value = Math.max(Math.min(1, max), min);
  return multipleOf === undefined ? value : Math.ceil(value / multipleOf) * multipleOf;
}

function arrayExample({ items, prefixItems, minItems = 1 }: Shape, path: string): unknown[] {
  if (prefixItems) return prefixItems.map((item, index) => exampleOf(item, `${path}/${index}`));
  const item = exampleOf(items ?? ({} as TSchema), `${path}/0`);
  return Array.from({ length: Math.max(1, minItems) }, () => item);
}

/**
 * Includes the optional fields. A schema whose rules exclude some combinations must provide its own example.
 */
function objectExample(shape: Shape, path: string): Record<string, unknown> {
  const fields = Object.entries(fieldsOf(shape));
  if (fields.length === 0 && shape.additionalProperties !== false) throwMissingExample(shape, path);
  return Object.fromEntries(fields.map(([name, field]) => [name, exampleOf(field, `${path}/${name}`)]));
}

/** Fields of the schema and of its `allOf` parts of type object; the other parts are conditions. */
function fieldsOf(shape: Shape): Record<string, TSchema> {
  const parts = (shape.allOf ?? []).filter((part) => (part as Shape).type === "object");
  return Object.assign({}, ...parts.map((part) => fieldsOf(part as Shape)), shape.properties);
}
