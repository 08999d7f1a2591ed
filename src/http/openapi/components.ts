import type { TObject, TSchema, Variants } from "../../schema/types.ts";

export type Json = Readonly<Record<string, unknown>>;

export interface Reference {
  $ref: string;
}

type Kind = "schemas" | "responses" | "headers" | "parameters";

/** Collects the shared parts of the document. Each is stored once, and only if it is used. */
export interface Components {
  /** Stores a part under its name and returns a reference to it. */
  share(kind: Kind, name: string, part: Json): Reference;
  /** The schema of a request as it appears in the document: every subschema with a title becomes a reference. */
  schema(schema: TSchema): Json;
  /** The schema of something that Herald sends: its objects are open, because later versions may add fields. */
  openSchema(schema: TSchema): Json;
  all(): Partial<Record<Kind, Json>>;
}

export function createComponents(): Components {
  const shared: Partial<Record<Kind, Record<string, Json>>> = {};

  function share(kind: Kind, name: string, part: Json): Reference {
    shared[kind] ??= {};
    const known = shared[kind][name];
    if (known && JSON.stringify(known) !== JSON.stringify(part))
      throw new Error(`two different ${kind} are called "${name}"`);
    shared[kind][name] = part;
    return { $ref: `#/components/${kind}/${name}` };
  }

  function convert(given: Json, adapt: (schema: Json) => Json): Json {
    const schema = asUnion(given);
    const inlined = withMapping(
      schema,
      mapChildren(adapt(schema), (child) => convert(child, adapt)),
    );
    return typeof given.title === "string" ? { ...share("schemas", given.title, inlined) } : inlined;
  }

  return {
    share,
    schema: (given) => convert(given, (schema) => schema),
    openSchema: (given) => convert(given, withoutClosing),
    all: () => shared,
  };
}

/** Removes the rule that an object has no other fields. */
function withoutClosing(schema: Json): Json {
  const { additionalProperties, ...rest } = schema;
  return additionalProperties === false ? rest : schema;
}

/** The keywords of a union whose variants are chosen by the value of a field. */
interface Union {
  discriminator?: { propertyName: string };
  oneOf?: readonly TObject[];
  anyOf?: readonly TObject[];
}

/** Repeats the fields of an object in each of its variants: generators ignore fields beside a union. */
function asUnion(given: Json): Json {
  const { "x-variants": declared, properties, required, ...rest } = given;
  if (!declared) return given;
  const { tag, variants } = declared as Variants;
  const whole = variants.map((variant) => ({
    ...variant,
    properties: { ...(properties as object), ...variant.properties },
    required,
  }));
  return { ...rest, required: [tag], discriminator: { propertyName: tag }, anyOf: whole };
}

/** Adds the component of each value of the discriminator: by default its name would have to be the value. */
function withMapping(given: Json, inlined: Json): Json {
  const { discriminator, oneOf, anyOf = [] } = given as Union;
  if (!discriminator) return inlined;
  const references = (inlined.oneOf ?? inlined.anyOf) as readonly Reference[];
  const mapping = (oneOf ?? anyOf).flatMap(({ properties }, index) =>
    valuesOf(properties[discriminator.propertyName] ?? {}).map((value) => [value, references[index]?.$ref]),
  );
  return { ...inlined, discriminator: { ...discriminator, mapping: Object.fromEntries(mapping) } };
}

/** The values that the schema of a field names. */
function valuesOf({ const: constant, enum: words, anyOf }: Json): unknown[] {
  if (Array.isArray(anyOf)) return anyOf.flatMap(valuesOf);
  return Array.isArray(words) ? words : constant === undefined ? [] : [constant];
}

/**
 * Keywords whose values are schemas. Other values, such as examples, may look like schemas and are copied
 * unchanged.
 */
const SINGLE_SCHEMA_KEYWORDS = [
  "items",
  "additionalProperties",
  "unevaluatedProperties",
  "propertyNames",
  "contains",
  "not",
  "if",
  "then",
  "else",
] as const;
const SCHEMA_LIST_KEYWORDS = ["anyOf", "oneOf", "allOf", "prefixItems"] as const;
const SCHEMA_MAP_KEYWORDS = ["properties", "patternProperties", "dependentSchemas"] as const;

const isObject = (value: unknown): value is Json =>
  typeof value === "object" && value !== null && !Array.isArray(value);

/** Copies the schema and replaces its direct subschemas. */
function mapChildren(schema: Json, replace: (child: Json) => Json): Json {
  const copy: Record<string, unknown> = { ...schema };
  for (const key of SINGLE_SCHEMA_KEYWORDS) if (isObject(copy[key])) copy[key] = replace(copy[key]);
  for (const key of SCHEMA_LIST_KEYWORDS) if (Array.isArray(copy[key])) copy[key] = copy[key].map(replace);
  for (const key of SCHEMA_MAP_KEYWORDS) {
    const children = Object.entries((copy[key] ?? {}) as Record<string, Json>);
    if (key in copy) copy[key] = Object.fromEntries(children.map(([name, child]) => [name, replace(child)]));
  }
  return copy;
}
