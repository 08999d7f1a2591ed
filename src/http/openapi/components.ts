import type { TSchema } from "../../schema/types.ts";

export type Json = Readonly<Record<string, unknown>>;

export interface Reference {
  $ref: string;
}

type Kind = "schemas" | "responses" | "headers";

/** Collects the shared parts of the document. Each is stored once, and only if it is used. */
export interface Components {
  /** Stores a part under its name and returns a reference to it. */
  share(kind: Kind, name: string, part: Json): Reference;
  /** The schema as it appears in the document: every subschema with a title becomes a reference. */
  schema(schema: TSchema): Json;
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

  function schema(given: Json): Json {
    const inlined = mapChildren(given, schema);
    return typeof given.title === "string" ? { ...share("schemas", given.title, inlined) } : inlined;
  }

  return { share, schema, all: () => shared };
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
