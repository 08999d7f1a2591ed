import { EVENT_TYPES, type EventType } from "../../schema/enumerations.ts";
import { EVENT_MEANINGS } from "../../schema/events/event-meanings.ts";
import { EVENT_PAYLOADS } from "../../schema/events/payloads.ts";
import type { TObject, TSchema } from "../../schema/types.ts";
import { code, markdownTable } from "./markdown.ts";

/** The keywords of a schema that the catalogue shows. */
interface Shape extends Partial<Pick<TObject, "properties" | "required">> {
  type?: string;
  format?: string;
  title?: string;
  description?: string;
  const?: unknown;
  enum?: readonly string[];
  anyOf?: readonly Shape[];
  items?: Shape;
  examples?: readonly unknown[];
}

/** Schemas of the API that other pages describe; their fields are not repeated. */
const isApiObject = ({ title }: Shape) => title?.endsWith("Dto") === true;

function typeOf(shape: Shape): string {
  if (shape.anyOf) return [...new Set(shape.anyOf.map(typeOf))].join(" or ");
  if (shape.enum) return shape.enum.map(code).join(", ");
  if (shape.const !== undefined) return code(String(shape.const));
  if (isApiObject(shape)) return code(String(shape.title));
  if (shape.type === "array") return `list of ${typeOf(shape.items ?? {})}`;
  if (shape.format === "date-time") return "time";
  return shape.type ?? "any JSON";
}

/** The rows of a field and, recursively, of the fields in it or in its items. */
function rowsOf(name: string, schema: TSchema, isRequired: boolean): string[][] {
  const shape = schema as Shape;
  const [child, prefix] = shape.type === "array" ? [shape.items ?? {}, `${name}[].`] : [shape, `${name}.`];
  const type = isRequired ? typeOf(shape) : `${typeOf(shape)}, optional`;
  return [
    [code(name), type, shape.description ?? ""],
    ...(isApiObject(child) ? [] : fieldRows(child, prefix)),
  ];
}

const fieldRows = ({ properties = {}, required = [] }: Shape, prefix: string): string[][] =>
  Object.entries(properties).flatMap(([name, schema]) =>
    rowsOf(prefix + name, schema, required.includes(name)),
  );

function describeFields({ properties = {} }: Shape): string {
  const rows = fieldRows(properties.data as Shape, "data.");
  return rows.length === 0 ? "`data` has no fields." : markdownTable(["field", "type", "meaning"], rows);
}

function describeType(type: EventType): string {
  const shape = EVENT_PAYLOADS[type] as Shape;
  const example = JSON.stringify(shape.examples?.[0], null, 2);
  const parts = [`### ${type}`, `${EVENT_MEANINGS[type]}.`, describeFields(shape)];
  return [...parts, `\`\`\`json\n${example}\n\`\`\``].join("\n\n");
}

/** Every event type with its fields and an example. */
export const eventCatalogue = (): string => EVENT_TYPES.map(describeType).join("\n\n");
