import { ApiError, invalidField, invalidFields } from "../../runtime/errors.ts";
import { storableProblem } from "../../schema/storable.ts";
import { object, type TObject, type TSchema } from "../../schema/types.ts";
import type { Check, Validator } from "../../schema/validate.ts";
import { type IncomingFile, isRawBody, type Method, type RawBody, type Route } from "../route.ts";
import { parseJsonBody } from "./json-body.ts";
import { isMediaType } from "./media-type.ts";

/** The checked input of one route. */
export interface InputReader {
  params(given: Record<string, unknown>): Record<string, unknown>;
  query(search: string): Record<string, unknown>;
  body(content: Buffer | IncomingFile, contentType: string | undefined): unknown;
}

const NOTHING = object({});

/** From here on a wrong body is told its first problem only. */
const LARGE = 65_536;

/** What a route's schemas make of its input; undeclared means that nothing may be sent there. */
export function createInputReader(route: Route, validator: Validator): InputReader {
  const { body = NOTHING } = route;
  const texts = (schema: TObject, whole: string) => {
    const check = validator.texts(schema, whole);
    return (values: Record<string, unknown>) => checked(values, whole, check);
  };
  const { params: pathSchema = NOTHING, query: querySchema = NOTHING } = route;
  const [params, query] = [texts(pathSchema, "the path"), texts(querySchema, "the query")];
  return {
    // What is neither declared nor given needs no look, nor does the router's own object where nothing is in the path.
    params: (given) => (route.params ? params({ ...given }) : {}),
    query: (search) => (route.query || search !== "" ? query(queryObject(search, querySchema)) : {}),
    body: isRawBody(body) ? rawReader(body) : jsonReader(route.method, body, validator),
  };
}

/** The value, once nothing is wrong with it: first what no database can keep, then what the schema says. */
function checked<T extends object>(value: T, whole: string, check: Check): T {
  const unstorable = storableProblem(value, whole);
  const problems = unstorable ? [unstorable] : check(value);
  if (problems.length === 0) return value;
  throw invalidFields(problems);
}

/** Of a name that stands twice and means nothing here the last one counts. */
function queryObject(search: string, { properties }: TObject): Record<string, unknown> {
  const values = new Map<string, string>();
  for (const [name, value] of new URLSearchParams(search)) {
    if (values.has(name) && Object.hasOwn(properties, name))
      throw invalidField(`/${name}`, `${name} must be given once`);
    values.set(name, value);
  }
  return Object.fromEntries(values);
}

function jsonReader(method: Method, schema: TSchema, validator: Validator) {
  const whole = "the body";
  const check = validator.json(schema, whole);
  const nullIsAbsent = method === "patch" ? droppableNulls(schema) : new Set<string>();
  return (content: Buffer | IncomingFile) => {
    const bytes = content as Buffer; // what is streamed is never JSON
    const body = parseJsonBody(bytes);
    for (const field of nullIsAbsent) if (body[field] === null) delete body[field];
    return checked(body, whole, (value) => check(value, bytes.length > LARGE));
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
  return (content: Buffer | IncomingFile, contentType: string | undefined) => {
    if (mediaTypes && !mediaTypes.some((accepted) => matches(accepted, contentType)))
      throw new ApiError(
        "unsupported_media_type",
        mediaTypes.includes("*/*")
          ? "A Content-Type is required"
          : `The Content-Type must be one of ${mediaTypes.join(", ")}`,
      );
    return content;
  };
}

function matches(accepted: string, contentType = ""): boolean {
  if (accepted === "*/*") return isMediaType(contentType);
  const given = contentType.split(";")[0]?.trim().toLowerCase() ?? "";
  return accepted.endsWith("/*") ? given.startsWith(accepted.slice(0, -1)) : given === accepted;
}
