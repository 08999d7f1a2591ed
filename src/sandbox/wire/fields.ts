import { GraphError, invalidParameter } from "./graph-error.ts";
import { splitOutsideBraces } from "./params.ts";

type Node = Record<string, unknown>;

const FIELD_PATTERN = /^(\w+)(?:\{(.*)\})?$/s;

function parseField(word: string): { name: string; inner: string[] | undefined } {
  const [, name, inner] = FIELD_PATTERN.exec(word) ?? [];
  if (name === undefined)
    throw new GraphError(2500, `Syntax error "Expected end of string instead of "${word}"."`);
  return { name, inner: inner === undefined ? undefined : splitFields(inner) };
}

const splitFields = (text: string) => splitOutsideBraces(text).map((word) => word.trim());

const withoutEmpty = (fields: readonly string[] | undefined) => (fields ?? []).filter((word) => word !== "");

/**
 * Selects the requested `fields`; `business{id,name}` also selects inside objects and inside the items of
 * lists, bare or as `{data: [...]}`. The id is always included, and missing fields are omitted.
 */
export function project(
  node: Node,
  fields: readonly string[] | undefined,
  defaultFields: readonly string[],
): Node {
  const words = withoutEmpty(fields);
  const picked: Node = {};
  for (const { name, inner } of (words.length === 0 ? defaultFields : words).map(parseField))
    if (node[name] !== undefined) picked[name] = inner ? projectNested(node[name], inner) : node[name];
  if (node.id !== undefined) picked.id = node.id;
  return picked;
}

function projectNested(value: unknown, inner: readonly string[]): unknown {
  if (Array.isArray(value)) return value.map((item) => projectNested(item, inner));
  if (typeof value !== "object" || value === null) return value;
  if ("data" in value && Array.isArray(value.data))
    return { ...value, data: projectNested(value.data, inner) };
  return project(value as Node, inner, []);
}

/** Throws for a field that this node type never has, even when the list is empty. */
export function checkFields(
  fields: readonly string[] | undefined,
  type: string,
  known: readonly string[],
): void {
  const unknownField = withoutEmpty(fields)
    .map(parseField)
    .find(({ name }) => name !== "id" && !known.includes(name));
  if (unknownField)
    throw invalidParameter(`Tried accessing nonexisting field (${unknownField.name}) on node type (${type})`);
}
