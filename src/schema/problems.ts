import type { ErrorObject } from "ajv";

/** One problem of a value: its place (a JSON pointer) and a sentence for a person. */
export interface Problem {
  path: string;
  message: string;
  /** The error code that replaces `validation_failed`, if any. */
  code?: string;
}

const MAX_ERRORS = 100;
const MAX_PROBLEMS = 20;
const MAX_NAME_CHARS = 100;

/** Limits of a typo in a field's name: one wrong letter per three, at most two; longer names are not compared. */
const [CHARS_PER_TYPO, MAX_TYPOS, MAX_COMPARED_CHARS] = [3, 2, 50];

/** Converts the validator's errors to sentences, one per problem; `rootName` names the value itself. */
export function toProblems(all: readonly ErrorObject[], rootName: string): Problem[] {
  const errors = all.slice(0, MAX_ERRORS);
  const problems = new Map<string, Problem>();
  const relevant = errors.filter((error) => !isRedundant(error, errors));
  // A rejected value must have at least one problem, even when all errors are redundant.
  for (const error of relevant.length > 0 ? relevant : errors.slice(-1)) {
    const problem = toProblem(error, errors, rootName);
    problems.set(`${problem.path} ${problem.message}`, problem);
  }
  const found = [...problems.values()];
  const coded = found.filter(({ code }) => code !== undefined);
  // The other problems may only follow from a coded one: for an unknown kind, every field is unknown too.
  return (coded.length > 0 ? coded : found).slice(0, MAX_PROBLEMS);
}

/** Builds a JSON pointer. Names from the caller may be very long, so they are truncated. */
export const toPointer = (names: readonly string[]): string =>
  names.map((name) => `/${truncate(name).replaceAll("~", "~0").replaceAll("/", "~1")}`).join("");

const truncate = (name: string) =>
  name.length > MAX_NAME_CHARS ? `${name.slice(0, MAX_NAME_CHARS)}…` : name;

/** Formats the pointer `/a/0/b~1c` as `a.0.b/c`. */
export const toFieldName = (pointer: string, rootName: string): string =>
  pointer === ""
    ? rootName
    : pointer.slice(1).replaceAll("/", ".").replaceAll("~1", "/").replaceAll("~0", "~");

interface CustomKeywords {
  "x-message"?: string;
  "x-field"?: string;
  "x-code"?: string;
}

const customKeywords = (error: ErrorObject): CustomKeywords => (error.parentSchema ?? {}) as CustomKeywords;

const isUnion = (error: ErrorObject): boolean => error.keyword === "anyOf" || error.keyword === "oneOf";

/** Returns the errors of the branches of a union or condition. */
function branchesOf(error: ErrorObject, errors: readonly ErrorObject[]): ErrorObject[] {
  const base = error.schemaPath.slice(0, error.schemaPath.lastIndexOf("/"));
  const roots = error.keyword === "if" ? [`${base}/then/`, `${base}/else/`] : [`${error.schemaPath}/`];
  const isInside = (path: string) => path === error.instancePath || path.startsWith(`${error.instancePath}/`);
  // Also compares the place in the value, because all items of an array share one schema path.
  return errors.filter(
    (other) => isInside(other.instancePath) && roots.some((root) => other.schemaPath.startsWith(root)),
  );
}

const hasNonTypeError = (errors: readonly ErrorObject[]) => errors.some((error) => error.keyword !== "type");

/** A union and its branches all report the same value. Keeps the union's own message, or the errors of the closest branch. */
function isRedundant(error: ErrorObject, errors: readonly ErrorObject[]): boolean {
  const hasCustomMessage = customKeywords(error)["x-message"] !== undefined;
  if (isUnion(error) && !hasCustomMessage && hasNonTypeError(branchesOf(error, errors))) return true;
  if (error.keyword === "if" && !hasCustomMessage) return true;
  return errors.some((outer) => {
    const branches = branchesOf(outer, errors);
    if (outer === error || !branches.includes(error)) return false;
    if (customKeywords(outer)["x-message"] !== undefined) return true;
    return isUnion(outer) && (error.keyword === "type" || !hasNonTypeError(branches));
  });
}

function toProblem(error: ErrorObject, errors: readonly ErrorObject[], rootName: string): Problem {
  const { "x-message": customMessage, "x-field": field, "x-code": code } = customKeywords(error);
  // A custom message describes the form of a text, so it does not fit a value of another type.
  const message = error.keyword === "type" ? undefined : customMessage;
  const { missingProperty, additionalProperty, unevaluatedProperty } = error.params;
  const childName = field ?? missingProperty ?? additionalProperty ?? unevaluatedProperty;
  const path = error.instancePath + (typeof childName === "string" ? toPointer([childName]) : "");
  return {
    path,
    message: message ?? `${toFieldName(path, rootName)} ${describeError(error, errors)}`,
    ...(code === undefined || error.keyword === "type" ? {} : { code }),
  };
}

function describeError(error: ErrorObject, errors: readonly ErrorObject[]): string {
  const { keyword, params, message } = error;
  switch (keyword) {
    case "required":
      return "is required";
    case "additionalProperties":
    case "unevaluatedProperties":
      return describeUnknownField(error);
    case "enum":
      return `must be one of ${(params.allowedValues as unknown[]).join(", ")}`;
    case "const":
      return `must be ${JSON.stringify(params.allowedValue)}`;
    case "format":
      return describeFormat(params.format) ?? `must be a valid ${params.format}`;
    case "pattern":
      return firstExample(error) === undefined
        ? (message ?? "is not valid")
        : `must look like ${firstExample(error)}`;
    case "minLength":
      return params.limit === 1 ? "must not be empty" : `must have at least ${params.limit} characters`;
    case "maxLength":
      return describeFormat(error.parentSchema?.format) ?? `must have at most ${params.limit} characters`;
    case "minItems":
      return `must have at least ${params.limit} ${params.limit === 1 ? "item" : "items"}`;
    case "maxItems":
      return `must have at most ${params.limit} ${params.limit === 1 ? "item" : "items"}`;
    case "uniqueItems":
      return describeRepeatedItem((error.data as unknown[])[params.i]);
    case "minimum":
      return `must be at least ${params.limit}`;
    case "maximum":
      return `must be at most ${params.limit}`;
    case "type":
      return describeTypeError([params.type].flat(), error.data);
    case "x-max-bytes":
      return `must have at most ${error.schema} bytes in UTF-8`;
    case "anyOf":
    case "oneOf": {
      const types = branchesOf(error, errors).map((branch) => branch.params.type);
      return types.length > 0
        ? describeTypeError(types.flat(), error.data)
        : "must match exactly one of the allowed forms";
    }
    default:
      return message ?? "is not valid";
  }
}

/** The formats that need an explanation. It also replaces the length limit of such a text. */
const FORMAT_SENTENCES: Readonly<Record<string, string>> = {
  "date-time": "must be an RFC 3339 time such as 2026-11-01T09:30:00Z",
  date: "must be a date such as 2026-11-01 (YYYY-MM-DD)",
};

const describeFormat = (format: unknown): string | undefined => FORMAT_SENTENCES[String(format)];

/** Only a text is repeated in the message: other values may be large. */
const describeRepeatedItem = (item: unknown): string =>
  typeof item === "string"
    ? `must not contain ${truncate(item)} more than once`
    : "must not contain the same value more than once";

function describeUnknownField({ params, parentSchema }: ErrorObject): string {
  const name: string = params.additionalProperty ?? params.unevaluatedProperty;
  const { "x-fixed": fixed, properties } = (parentSchema ?? {}) as UnknownFieldKeywords;
  if (fixed?.includes(name)) return "cannot be changed after creation";
  const similar = findSimilarName(name, Object.keys(properties ?? {}));
  return `is not a known field${similar === undefined ? "" : `: did you mean \`${similar}\`?`}`;
}

interface UnknownFieldKeywords {
  "x-fixed"?: readonly string[];
  properties?: object;
}

const TYPE_NAMES: Readonly<Record<string, string>> = {
  string: "a string",
  number: "a number",
  integer: "an integer",
  boolean: "true or false",
  object: "an object",
  array: "a list",
};

/** An integer beyond 2^53 arrives as a bigint, which has no JSON Schema type. */
const describeTypeError = (types: readonly unknown[], value: unknown): string =>
  typeof value === "bigint" && (types.includes("integer") || types.includes("number"))
    ? `is too ${value < 0n ? "small" : "large"}`
    : `must be ${describeTypes(types)}`;

const describeTypes = (types: readonly unknown[]): string =>
  types.map((type) => TYPE_NAMES[String(type)] ?? String(type)).join(" or ");

/** Returns the schema's first documented example. */
const firstExample = ({ parentSchema }: ErrorObject): unknown =>
  (parentSchema as { examples?: readonly unknown[] } | undefined)?.examples?.[0];

/** Returns the known name that the caller probably meant: in another style (`dailyBudget`), or with a typo. */
function findSimilarName(given: string, known: readonly string[]): string | undefined {
  if (given.length > MAX_COMPARED_CHARS) return undefined;
  const word = lettersOf(given);
  const maxTypos = Math.min(MAX_TYPOS, Math.floor(word.length / CHARS_PER_TYPO));
  const typos = known.map((name) => countTypos(word, lettersOf(name)));
  const fewest = Math.min(...typos);
  return fewest <= maxTypos ? known[typos.indexOf(fewest)] : undefined;
}

const lettersOf = (name: string) => name.toLowerCase().replaceAll(/[_-]/g, "");

/** Counts the letters to insert, remove, replace or swap with the next one, if the lengths are close. */
function countTypos(from: string, to: string): number {
  if (Math.abs(from.length - to.length) > MAX_TYPOS) return Number.POSITIVE_INFINITY;
  // `at(i, j)` is the result for the first i letters of `from` and the first j letters of `to`.
  const rows = [Array.from({ length: to.length + 1 }, (_, index) => index)];
  const at = (i: number, j: number) => rows[i]?.[j] ?? Number.POSITIVE_INFINITY;
  for (let i = 1; i <= from.length; i++) {
    const row = [i];
    rows.push(row);
    for (let j = 1; j <= to.length; j++) {
      const replaced = at(i - 1, j - 1) + (from[i - 1] === to[j - 1] ? 0 : 1);
      const isSwapped = from[i - 1] === to[j - 2] && from[i - 2] === to[j - 1];
      const swapped = isSwapped ? at(i - 2, j - 2) + 1 : Number.POSITIVE_INFINITY;
      row.push(Math.min(replaced, swapped, at(i - 1, j) + 1, at(i, j - 1) + 1));
    }
  }
  return at(from.length, to.length);
}
