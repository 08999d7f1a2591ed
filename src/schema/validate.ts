import { Ajv2020, type ErrorObject } from "ajv/dist/2020.js";
import addFormats from "ajv-formats";
import { type Problem, toProblems } from "./problems.ts";
import type { TSchema } from "./types.ts";

/** Checks a value in place: of texts (query and path) numbers and booleans are converted first. Answers the problems. */
export type Check = (value: unknown) => Problem[];

/** Compiles schemas, each once, when the routes are built. */
export function createValidator() {
  const json = createAjv(false);
  const texts = createAjv(true);
  const compile = (ajv: Ajv2020, schema: TSchema, whole: string): Check => {
    const validate = ajv.compile(schema);
    return (value) => (validate(value) ? [] : toProblems(validate.errors as ErrorObject[], whole));
  };
  return {
    json: (schema: TSchema, whole = "the body") => compile(json, schema, whole),
    texts: (schema: TSchema, whole = "the query") => compile(texts, schema, whole),
  };
}

export type Validator = ReturnType<typeof createValidator>;

function createAjv(coerceTypes: boolean): Ajv2020 {
  // strictRequired would refuse rules across fields ("if a then b"), which name fields of the object around them.
  const ajv = new Ajv2020({
    strict: true,
    strictRequired: false,
    allErrors: true,
    verbose: true,
    coerceTypes,
  });
  addFormats.default(ajv);
  ajv.addKeyword({ keyword: "x-message", schemaType: "string" });
  ajv.addKeyword({ keyword: "x-field", schemaType: "string" });
  return ajv;
}
