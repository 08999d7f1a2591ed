import { _, Ajv2020, type CodeKeywordDefinition, type ErrorObject } from "ajv/dist/2020.js";
import addFormats from "ajv-formats";
import { type Problem, toProblems } from "./problems.ts";
import type { TObject, TSchema } from "./types.ts";

/**
 * Checks a value and returns its problems. With `isLarge`, returns only the first: collecting the problems of a large
 * value could cost far more than the request itself.
 */
export type Check = (value: unknown, isLarge?: boolean) => Problem[];

/** One validator stops at the first error, the other collects all. Both cache their compiled schemas. */
const [firstErrorAjv, allErrorsAjv] = [lazily(() => createAjv(false)), lazily(() => createAjv(true))];

/** Compiles each schema at its first use: compiling those of all routes would take half of the start-up time. */
export function createValidator() {
  const compile = (schema: TSchema, rootName: string): Check => {
    const first = lazily(() => firstErrorAjv().compile(schema));
    const all = lazily(() => allErrorsAjv().compile(schema));
    return (value, isLarge = false) => {
      const isValid = first();
      if (isValid(value)) return [];
      if (isLarge) return toProblems(isValid.errors as ErrorObject[], rootName);
      const explain = all();
      explain(value);
      return toProblems(explain.errors as ErrorObject[], rootName);
    };
  };
  return {
    json: (schema: TSchema, rootName = "the body") => compile(schema, rootName),
    /** For query and path parameters, which are strings: converts numbers and booleans, fills in defaults. */
    strings(schema: TObject, rootName: string): Check {
      const check = compile(schema, rootName);
      return (value) => {
        coerceStrings(schema, value as Record<string, unknown>);
        return check(value);
      };
    },
  };
}

export type Validator = ReturnType<typeof createValidator>;

function createAjv(allErrors: boolean): Ajv2020 {
  // strictRequired would reject rules across fields ("if a then b"), which name fields of the enclosing object.
  const ajv = new Ajv2020({
    strict: true,
    strictRequired: false,
    discriminator: true,
    verbose: true,
    allErrors,
    // Removing unused variables would take half of the time to compile a schema, and V8 does it too.
    code: { optimize: false },
  });
  // The package's other formats are left out: not all of their regular expressions can be proven to be linear.
  addFormats.default(ajv, ["date-time", "date", "email"]);
  // The package's `uuid` also accepts `urn:uuid:`, which Postgres rejects.
  ajv.addFormat("uuid", /^[0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12}$/i);
  ajv.addFormat("uri", (text: string) => URL.canParse(text));
  // The other validator stops at the first error, and maxLength comes first.
  if (allErrors) boundTextKeywords(ajv);
  ajv.addKeyword({ keyword: "x-message", schemaType: "string" });
  ajv.addKeyword({ keyword: "x-field", schemaType: "string" });
  ajv.addKeyword({ keyword: "x-code", schemaType: "string" });
  ajv.addKeyword({ keyword: "x-fixed", schemaType: "array" });
  ajv.addKeyword({ keyword: "x-variants", schemaType: "object" });
  ajv.addKeyword({
    keyword: "x-max-bytes",
    type: "string",
    schemaType: "number",
    validate: (maxBytes: number, text: string) => Buffer.byteLength(text) <= maxBytes,
  });
  return ajv;
}

/**
 * Makes `pattern` and `format` skip a text that exceeds the schema's maxLength. The validator that collects all errors
 * would otherwise evaluate them on a text of any length after maxLength has refused it.
 */
function boundTextKeywords(ajv: Ajv2020): void {
  for (const keyword of ["pattern", "format"]) {
    const builtIn = ajv.getKeyword(keyword) as CodeKeywordDefinition;
    ajv.removeKeyword(keyword);
    ajv.addKeyword({
      ...builtIn,
      code(context, ruleType) {
        const { maxLength } = context.parentSchema as { maxLength?: number };
        const evaluate = () => builtIn.code(context, ruleType);
        if (maxLength === undefined) return evaluate();
        const exceeds = context.gen.scopeValue("func", { ref: exceedsLength });
        context.gen.if(_`!${exceeds}(${context.data}, ${maxLength})`, evaluate);
      },
    });
  }
}

/** JSON Schema counts characters. A character has at most two UTF-16 code units, so a much longer text need not be counted. */
const exceedsLength = (text: string, maxLength: number): boolean =>
  text.length > maxLength && (text.length > 2 * maxLength || [...text].length > maxLength);

/**
 * Converts query and path strings to the types of their schema, in place, and fills in defaults. Only plain decimal
 * integers are converted: `1e3`, `0x10`, ` 5` and `Infinity` stay strings, which the validator rejects.
 */
function coerceStrings(schema: TObject, values: Record<string, unknown>): void {
  for (const [name, property] of Object.entries(schema.properties)) {
    const value = values[name];
    if (value === undefined && property.default !== undefined) values[name] = property.default;
    else if (typeof value === "string") values[name] = coerce(value, property.type);
  }
}

function coerce(text: string, type: unknown): unknown {
  if (type === "integer" && /^-?\d{1,15}$/.test(text)) return Number(text);
  if (type === "boolean" && (text === "true" || text === "false")) return text === "true";
  return text;
}

function lazily<T>(make: () => T): () => T {
  let made: T | undefined;
  return () => {
    made ??= make();
    return made;
  };
}
