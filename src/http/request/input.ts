import { isUtf8 } from "node:buffer";
import { largeBodies, MAX_INLINE_BYTES, nextSlice } from "../../runtime/async/time-slices.ts";
import { MAX_NUMBER_CHARS, parseJson } from "../../runtime/json/json.ts";
import { findExceededLimit, type JsonLimits } from "../../runtime/json/json-limits.ts";
import { toPointer } from "../../schema/problems.ts";
import { findStorableProblem } from "../../schema/storable.ts";
import { object, type TObject, type TSchema } from "../../schema/types.ts";
import type { Check, Validator } from "../../schema/validate.ts";
import { ApiError, invalidField, invalidFields } from "../api-error.ts";
import { isMediaType } from "../reply.ts";
import { type IncomingFile, isRawBody, type RawBody, type Route } from "../route.ts";

/** Reads and validates the input of one route. */
interface InputReader {
  params(given: Record<string, unknown>): Record<string, unknown>;
  query(search: string): Record<string, unknown>;
  /** A promise for a large JSON body, which is parsed in slices, in turn between senders. */
  body(content: Buffer | IncomingFile, contentType: string | undefined, sender: string): unknown;
}

const EMPTY_OBJECT = object({});

/** For a larger body only the first problem is reported. */
const ALL_PROBLEMS_MAX_BYTES = 65_536;

/** Builds the readers from the route's schemas. Without a schema, nothing may be sent. */
export function createInputReader(route: Route, validator: Validator): InputReader {
  const { body = EMPTY_OBJECT } = route;
  const textReader = (schema: TObject, subject: string) => {
    const check = validator.strings(schema, subject);
    return (values: Record<string, unknown>) => validateInput(values, subject, check);
  };
  const { params: pathSchema = EMPTY_OBJECT, query: querySchema = EMPTY_OBJECT } = route;
  const [params, query] = [textReader(pathSchema, "the path"), textReader(querySchema, "the query")];
  return {
    // Skips validation when nothing is declared and nothing is sent.
    params: (given) => (route.params ? params({ ...given }) : {}),
    query: (search) => (route.query || search !== "" ? query(parseQuery(search, querySchema)) : {}),
    body: isRawBody(body) ? rawReader(body) : createJsonReader(route, body, validator),
  };
}

/** Returns the value if it is valid: first storable in Postgres, apart from one field, then conforming to the schema. */
function validateInput<T extends object>(value: T, subject: string, check: Check, exceptField?: string): T {
  const unstorable = findStorableProblemExcept(value, subject, exceptField);
  const problems = unstorable ? [unstorable] : check(value);
  if (problems.length === 0) return value;
  throw invalidFields(problems);
}

/** Takes the field out meanwhile: copying a body of many fields takes longer than parsing it. */
function findStorableProblemExcept(value: object, subject: string, field: string | undefined) {
  if (field === undefined || !Object.hasOwn(value, field)) return findStorableProblem(value, subject);
  const fields = value as Record<string, unknown>;
  const taken = fields[field];
  fields[field] = undefined;
  const problem = findStorableProblem(value, subject);
  fields[field] = taken;
  return problem;
}

/** Rejects a repeated parameter of the route. The last value of a repeated unknown parameter counts. */
function parseQuery(search: string, { properties }: TObject): Record<string, unknown> {
  const values = new Map<string, string>();
  for (const [name, value] of new URLSearchParams(search)) {
    if (values.has(name) && Object.hasOwn(properties, name))
      throw invalidField(`/${name}`, `${name} must be given only once`);
    values.set(name, value);
  }
  return Object.fromEntries(values);
}

/** Reads a JSON body. Threads use it too, so that their errors are those of every other route. */
export function createJsonReader(
  route: Pick<Route, "method" | "maxFieldBytes" | "maxValues" | "listOfItems">,
  schema: TSchema,
  validator: Validator,
) {
  const subject = "the body";
  const check = validator.json(schema, subject);
  const nullIsAbsent = route.method === "patch" ? nonNullableFields(schema) : new Set<string>();
  const validate = (body: Record<string, unknown>, isLarge: boolean) => {
    for (const field of nullIsAbsent) if (body[field] === null) delete body[field];
    return validateInput(body, subject, (value) => check(value, isLarge), route.listOfItems);
  };
  const readInSlices = async (bytes: Buffer) => {
    await nextSlice();
    assertJsonLimits(bytes, route);
    await nextSlice();
    const body = parseJsonBody(bytes);
    await nextSlice();
    return validate(body, true);
  };
  return (content: Buffer | IncomingFile, _contentType?: string, sender = "") => {
    const bytes = content as Buffer; // a streamed body is never JSON
    if (bytes.length > MAX_INLINE_BYTES) return largeBodies.run(sender, 1, () => readInSlices(bytes));
    assertJsonLimits(bytes, route);
    return validate(parseJsonBody(bytes), bytes.length > ALL_PROBLEMS_MAX_BYTES);
  };
}

const JSON_LIMITS: JsonLimits = { maxDepth: 100, maxValues: 50_000, maxNumberChars: MAX_NUMBER_CHARS };

/** Throws a 400 for a JSON body whose parsing or validation could take long. */
function assertJsonLimits(
  bytes: Buffer,
  { maxFieldBytes, maxValues = JSON_LIMITS.maxValues }: Pick<Route, "maxFieldBytes" | "maxValues">,
): void {
  const exceeded = findExceededLimit(bytes, { ...JSON_LIMITS, maxValues, maxFieldBytes });
  if (exceeded === undefined) return;
  switch (exceeded.limit) {
    case "depth":
      throw new ApiError(
        "validation_failed",
        `The body is nested deeper than ${JSON_LIMITS.maxDepth} levels`,
      );
    case "values":
      throw new ApiError("validation_failed", `The body has more than ${maxValues} values`);
    case "number":
      throw new ApiError(
        "validation_failed",
        `The body has a number of more than ${JSON_LIMITS.maxNumberChars} characters`,
      );
    case "field":
      throw invalidField(
        toPointer([exceeded.name]),
        `${exceeded.name} must have at most ${maxFieldBytes} bytes`,
      );
  }
}

/**
 * Parses the body as a JSON object, regardless of its Content-Type. An empty body counts as `{}`. Integers beyond 2^53 are
 * bigints, so that they reach the platforms as written.
 */
function parseJsonBody(bytes: Buffer): Record<string, unknown> {
  if (bytes.length === 0) return {};
  const value = parseJsonBytes(bytes);
  if (value === null || typeof value !== "object" || Array.isArray(value))
    throw new ApiError("validation_failed", "The body must be a JSON object");
  return value as Record<string, unknown>;
}

function parseJsonBytes(bytes: Buffer): unknown {
  if (!isUtf8(bytes)) throw new ApiError("validation_failed", "The body is not valid UTF-8");
  try {
    return parseJson(bytes.toString("utf8").replace(/^\ufeff/, ""));
  } catch (cause) {
    // The parser's message is not used: it quotes the body, which may contain a secret.
    throw new ApiError("validation_failed", "The body is not valid JSON", { cause });
  }
}

/** On PATCH, null counts as absent except for fields whose schema allows null. */
function nonNullableFields(schema: TSchema): Set<string> {
  const properties = Object.entries((schema as TObject).properties ?? {});
  return new Set(properties.filter(([, property]) => !allowsNull(property)).map(([name]) => name));
}

function allowsNull(schema: TSchema): boolean {
  const { type, anyOf } = schema as { type?: unknown; anyOf?: TSchema[] };
  return type === "null" || (Array.isArray(anyOf) && anyOf.some(allowsNull));
}

function rawReader({ mediaTypes }: RawBody) {
  return (content: Buffer | IncomingFile, contentType: string | undefined) => {
    if (mediaTypes && !mediaTypes.some((accepted) => matchesMediaType(accepted, contentType)))
      throw new ApiError(
        "unsupported_media_type",
        mediaTypes.includes("*/*")
          ? "A Content-Type is required"
          : `The Content-Type must be one of ${mediaTypes.join(", ")}`,
      );
    return content;
  };
}

function matchesMediaType(accepted: string, contentType = ""): boolean {
  if (accepted === "*/*") return isMediaType(contentType);
  const given = contentType.split(";")[0]?.trim().toLowerCase() ?? "";
  return accepted.endsWith("/*") ? given.startsWith(accepted.slice(0, -1)) : given === accepted;
}
