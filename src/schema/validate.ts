import { Ajv2020, type ErrorObject } from "ajv/dist/2020.js";
import addFormats from "ajv-formats";
import { coerceStrings } from "./coerce-strings.ts";
import { type Problem, toProblems } from "./problems.ts";
import type { TObject, TSchema } from "./types.ts";

/**
 * Checks a value in place and answers its problems: all of them, or of a value that `isLarge` the first one, because
 * a list of a million complaints costs more than the request is worth.
 */
export type Check = (value: unknown, isLarge?: boolean) => Problem[];

/** The one that stops at the first problem and the one that finds all; they know what they have compiled before. */
const [firstErrorAjv, allErrorsAjv] = [lazily(() => createAjv(false)), lazily(() => createAjv(true))];

/** Compiles schemas, each once, at the first value: compiling those of all routes would be half of a process's start. */
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
    /** For query and path, where everything is a text: numbers and booleans are converted, defaults filled in. */
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
  // strictRequired would refuse rules across fields ("if a then b"), which name fields of the object around them.
  const ajv = new Ajv2020({ strict: true, strictRequired: false, verbose: true, allErrors });
  addFormats.default(ajv);
  // Theirs also takes `urn:uuid:`, which no database does.
  ajv.addFormat("uuid", /^[0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12}$/i);
  ajv.addKeyword({ keyword: "x-message", schemaType: "string" });
  ajv.addKeyword({ keyword: "x-field", schemaType: "string" });
  ajv.addKeyword({ keyword: "x-code", schemaType: "string" });
  ajv.addKeyword({
    keyword: "x-max-bytes",
    type: "string",
    schemaType: "number",
    validate: (maxBytes: number, text: string) => Buffer.byteLength(text) <= maxBytes,
  });
  return ajv;
}

function lazily<T>(make: () => T): () => T {
  let made: T | undefined;
  return () => {
    made ??= make();
    return made;
  };
}
