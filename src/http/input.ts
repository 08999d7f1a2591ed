import { ApiError } from "../runtime/errors.ts";
import { object, type TObject, type TSchema } from "../schema/types.ts";
import type { Check, Validator } from "../schema/validate.ts";
import { assertStorable, parseJsonBody } from "./json-body.ts";
import { isRawBody, type RawBody, type Route } from "./route.ts";

/** The checked input of one route. */
export interface InputReader {
  params(given: Record<string, unknown>): Record<string, unknown>;
  query(search: string): Record<string, unknown>;
  body(bytes: Buffer, contentType: string | undefined): unknown;
}

const NOTHING = object({});

/** Compiles a route's schemas once; undeclared means that nothing may be sent there. */
export function createInputReader(route: Route, validator: Validator): InputReader {
  const checkParams = validator.texts(route.params ?? NOTHING, "the path");
  const checkQuery = validator.texts(route.query ?? NOTHING, "the query");
  return {
    params: (given) => checked(checkParams, { ...given }),
    query: (search) => checked(checkQuery, queryObject(search)),
    body: isRawBody(route.body) ? rawReader(route.body) : jsonReader(route, route.body ?? NOTHING, validator),
  };
}

function checked<T extends object>(check: Check, value: T): T {
  assertStorable(value, "");
  const problems = check(value);
  if (problems.length === 0) return value;
  const message = (problems[0] as { message: string }).message;
  throw new ApiError("validation_failed", message, { details: problems });
}

/** A name that stands twice becomes an array, which no schema takes: the caller hears of it. */
function queryObject(search: string): Record<string, unknown> {
  const params = new URLSearchParams(search);
  const names = new Set(params.keys());
  return Object.fromEntries([...names].map((name) => [name, oneOrAll(params.getAll(name))]));
}

const oneOrAll = (values: string[]) => (values.length === 1 ? values[0] : values);

function jsonReader(route: Route, schema: TSchema, validator: Validator) {
  const check = validator.json(schema);
  const nullIsAbsent = route.method === "patch" ? droppableNulls(schema) : new Set<string>();
  return (bytes: Buffer) => {
    const body = parseJsonBody(bytes);
    for (const field of nullIsAbsent) if (body[field] === null) delete body[field];
    return checked(check, body);
  };
}

/** On PATCH a null counts as absent, but for the fields whose schema gives null a meaning. */
function droppableNulls(schema: TSchema): Set<string> {
  const properties = Object.entries((schema as TObject).properties ?? {});
  return new Set(properties.filter(([, property]) => !takesNull(property)).map(([name]) => name));
}

function takesNull(schema: TSchema): boolean {
  const { type, anyOf } = schema as { type?: unknown; anyOf?: TSchema[] };
  return type === "null" || (Array.isArray(anyOf) && anyOf.some(takesNull));
}

function rawReader({ mediaTypes }: RawBody) {
  return (bytes: Buffer, contentType: string | undefined) => {
    if (mediaTypes && !mediaTypes.some((accepted) => matches(accepted, contentType)))
      throw new ApiError(
        "unsupported_media_type",
        `The Content-Type must be one of ${mediaTypes.join(", ")}`,
      );
    return bytes;
  };
}

function matches(accepted: string, contentType = ""): boolean {
  const given = contentType.split(";")[0]?.trim().toLowerCase() ?? "";
  return accepted.endsWith("/*") ? given.startsWith(accepted.slice(0, -1)) : given === accepted;
}
