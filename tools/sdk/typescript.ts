/** The parts of a JSON Schema that decide about its TypeScript type. Rules across fields (`allOf`, `if`, `not`) do not. */
export interface Schema {
  $ref?: string;
  type?: string;
  title?: string;
  description?: string;
  const?: unknown;
  enum?: readonly unknown[];
  properties?: Readonly<Record<string, Schema>>;
  required?: readonly string[];
  additionalProperties?: boolean | Schema;
  items?: Schema;
  anyOf?: readonly Schema[];
  oneOf?: readonly Schema[];
  discriminator?: { propertyName: string; mapping?: Readonly<Record<string, string>> };
}

/** Keywords that decide about the type. */
const TYPE_KEYWORDS = [
  "$ref",
  "const",
  "enum",
  "anyOf",
  "oneOf",
  "discriminator",
  "type",
  "properties",
  "required",
  "additionalProperties",
  "items",
];

/** Keywords that only restrict or describe the values. */
const OTHER_KEYWORDS = [
  ...["title", "description", "examples", "default", "format", "pattern", "minLength", "maxLength"],
  ...["minimum", "maximum", "minItems", "maxItems", "uniqueItems", "allOf", "not"],
];

const COMPONENT = "#/components/schemas/";

/** The name of the component that a schema refers to. */
export const nameOf = ({ $ref }: Schema): string | undefined =>
  $ref?.startsWith(COMPONENT) ? $ref.slice(COMPONENT.length) : undefined;

/** The TypeScript type of a schema. */
export function typeOf(schema: Schema): string {
  checkKeywords(schema);
  const name = nameOf(schema);
  if (name !== undefined) return name;
  if (schema.const !== undefined) return JSON.stringify(schema.const);
  if (schema.enum) return union(schema.enum.map((value) => JSON.stringify(value)));
  const variants = schema.anyOf ?? schema.oneOf;
  if (variants) return union(variants.map((variant) => variantType(variant, schema.discriminator)));
  switch (schema.type) {
    case "string":
    case "boolean":
    case "null":
      return schema.type;
    case "integer":
    case "number":
      return "number";
    case "array":
      return arrayOf(typeOf(schema.items ?? {}));
    case "object":
      return objectType(schema);
    case undefined:
      return "unknown";
    default:
      throw new Error(`there is no TypeScript type for the JSON Schema type ${schema.type}`);
  }
}

/** Throws for a schema whose type would be guessed or lose a part. */
function checkKeywords(schema: Schema): void {
  const refuse = (reason: string): never => {
    throw new Error(`the SDK cannot describe ${JSON.stringify(schema)}: ${reason}`);
  };
  const keywords = Object.keys(schema).filter((keyword) => !keyword.startsWith("x-"));
  const unknown = keywords.filter((name) => !TYPE_KEYWORDS.includes(name) && !OTHER_KEYWORDS.includes(name));
  if (unknown.length > 0) refuse(`it has no rule for ${unknown.join(", ")}`);
  const deciding = keywords.filter((name) => TYPE_KEYWORDS.includes(name));
  if (schema.$ref !== undefined && (deciding.length > 1 || nameOf(schema) === undefined))
    refuse("a reference must be to a component, and alone");
  if ((schema.anyOf ?? schema.oneOf) && (schema.properties || schema.items))
    refuse("variants beside properties or items");
  if (deciding.length === 0 && keywords.includes("allOf")) refuse("allOf without a type");
}

/** A union with known texts and any other text keeps the known ones for completion in editors. */
function union(types: readonly string[]): string {
  const hasTexts = types.some((type) => type.startsWith('"'));
  return [...new Set(types)]
    .map((type) => (hasTexts && type === "string" ? "(string & {})" : type))
    .join(" | ");
}

const arrayOf = (item: string): string => (/^\w+$/.test(item) ? `${item}[]` : `Array<${item}>`);

/**
 * The type of a variant. A variant that several values of the discriminator name has these values as its type, so that a
 * comparison with the value of another variant excludes it.
 */
function variantType(variant: Schema, discriminator: Schema["discriminator"]): string {
  const { propertyName, mapping = {} } = discriminator ?? {};
  const values = Object.keys(mapping).filter((value) => mapping[value] === variant.$ref);
  if (values.length < 2) return typeOf(variant);
  const literals = union(values.map((value) => JSON.stringify(value)));
  return `(${typeOf(variant)} & { ${propertyName}: ${literals} })`;
}

function objectType(schema: Schema): string {
  const lines = [...propertyLines(schema), ...indexLines(schema)];
  if (lines.length > 0) return `{\n${indent(lines.join("\n"))}\n}`;
  return schema.additionalProperties === false ? "Record<string, never>" : "Record<string, unknown>";
}

function propertyLines({ properties = {}, required = [] }: Schema): string[] {
  return Object.entries(properties).map(([name, property]) => {
    const key = /^[A-Za-z_]\w*$/.test(name) ? name : JSON.stringify(name);
    const optional = required.includes(name) ? "" : "?";
    return `${docComment(descriptionOf(property))}${key}${optional}: ${typeOf(property)};`;
  });
}

/** An object that is explicitly open has an index signature. Properties that it names keep their types. */
function indexLines({ additionalProperties: rest, properties = {} }: Schema): string[] {
  if (rest === undefined || rest === false) return [];
  const hasOtherTypes = rest === true || Object.keys(properties).length > 0;
  return [`[name: string]: ${hasOtherTypes ? "unknown" : typeOf(rest)};`];
}

/** The description of a property; that of a nullable property is at its first variant. */
const descriptionOf = ({ description, anyOf }: Schema): string | undefined =>
  description ?? anyOf?.[0]?.description;

/** A named type: an interface for an object, an alias for anything else. */
export function declareType(name: string, schema: Schema): string {
  const type = typeOf(schema);
  const isObject = schema.properties !== undefined && type.startsWith("{");
  const declaration = isObject ? `export interface ${name} ${type}` : `export type ${name} = ${type};`;
  return `${docComment(schema.description)}${declaration}\n`;
}

/** A doc comment with a line break after it; empty without text. */
export function docComment(text: string | undefined): string {
  if (text === undefined || text === "") return "";
  const lines = text.replaceAll("*/", "*\\/").split("\n");
  if (lines.length === 1) return `/** ${lines[0]} */\n`;
  return `/**\n${lines.map((line) => ` * ${line}`.trimEnd()).join("\n")}\n */\n`;
}

/** Indents every line but the empty ones by two spaces. */
export const indent = (text: string): string => text.replace(/^(?=.)/gm, "  ");

/** `listApiKeys` becomes ListApiKeys. */
export const pascalCase = (name: string): string => `${name[0]?.toUpperCase()}${name.slice(1)}`;

/** `channel_id` becomes channelId. */
export const camelCase = (name: string): string =>
  name.replace(/_(\w)/g, (_, letter: string) => letter.toUpperCase());
