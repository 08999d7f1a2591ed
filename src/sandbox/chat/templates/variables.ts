import { type ParameterFormat, templateError } from "./template.ts";

/**
 * Matches spaces as part of the name; they are trimmed later. A pattern with separate spaces would backtrack
 * in cubic time.
 */
const VARIABLE = /\{\{([^{}]*)\}\}/g;

/** Returns the distinct variable names of a text in order of appearance. */
export const variablesIn = (text: unknown): string[] =>
  typeof text === "string"
    ? [...new Set([...text.matchAll(VARIABLE)].map(([, name = ""]) => name.trim()))]
    : [];

/** True when the names follow the format: `1`, `2`, ... or lowercase names. */
export const hasValidNames = (names: readonly string[], format: ParameterFormat): boolean =>
  format === "NAMED"
    ? names.every((name) => /^[a-z][a-z0-9_]*$/.test(name))
    : [...names].sort((a, b) => Number(a) - Number(b)).every((name, index) => name === String(index + 1));

export const beginsOrEndsWithVariable = (text: string): boolean => /^\s*\{\{|\}\}\s*$/.test(text);

/** True when the text has at most as many words as variables; the platform refuses such a text. */
export function isMostlyVariables(text: string): boolean {
  const words = text.replaceAll(VARIABLE, " ").match(/[\p{L}\p{N}]+/gu) ?? [];
  const count = variablesIn(text).length;
  return count > 0 && words.length <= count;
}

interface ExampleCheck {
  /** The component's type. */
  type: string;
  example: unknown;
  names: readonly string[];
  format: ParameterFormat;
}

/** Every variable needs an example for the review. */
export function checkExamples({ type, example, names, format }: ExampleCheck): void {
  if (names.length === 0) return;
  const field = `${type.toLowerCase()}_text`;
  const given = (example ?? {}) as Record<string, unknown>;
  const complete =
    format === "NAMED"
      ? coversNames(given[`${field}_named_params`], names)
      : isRowOfLength(type === "BODY" ? firstRow(given[field]) : given[field], names.length);
  if (!complete) throw missingField(type, "example");
}

const firstRow = (rows: unknown): unknown => (Array.isArray(rows) ? rows[0] : undefined);

const isRowOfLength = (row: unknown, length: number): boolean =>
  Array.isArray(row) && row.length === length && row.every((value) => typeof value === "string");

function coversNames(params: unknown, names: readonly string[]): boolean {
  if (!Array.isArray(params)) return false;
  const given = params.filter((param) => typeof param?.example === "string").map((param) => param.param_name);
  return names.every((name) => given.includes(name));
}

export const missingField = (type: string, field: string) =>
  templateError(
    2388043,
    'Message template "components" param is missing expected field(s)',
    `component of type ${type} is missing expected field(s) (${field})`,
  );
