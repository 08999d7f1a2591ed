import type { RetryClass } from "../../sdk/src/retries.ts";
import { METHOD_NAMES } from "./method-names.ts";
import { nameOf, type Schema } from "./typescript.ts";

/** The parts of an OpenAPI document that the SDK is generated from. */
export interface ApiDocument {
  tags: readonly { name: string; description: string }[];
  paths: Readonly<Record<string, Readonly<Record<string, OperationObject>>>>;
  components: { schemas: Readonly<Record<string, Schema>> };
}

interface OperationObject {
  operationId: string;
  summary: string;
  description?: string;
  tags: readonly [string];
  parameters?: readonly ParameterObject[];
  requestBody?: { required?: boolean; content: ContentObject };
  responses: Readonly<Record<string, { content?: ContentObject }>>;
  "x-repeatable"?: true;
}

interface ParameterObject {
  name: string;
  in: "path" | "query" | "header";
  required: boolean;
  description?: string;
  schema: Schema;
}

type ContentObject = Readonly<Record<string, { schema: Schema }>>;

/** The reply of a successful request. `page`: one page of a list, whose next page a cursor names. */
type Reply = { kind: "json" | "page"; schema: Schema } | { kind: "none" } | { kind: "file" };

/** An operation as the SDK calls it. */
export interface Operation {
  id: string;
  namespace: string;
  method: string;
  tag: string;
  summary: string;
  description: string | undefined;
  verb: string;
  path: string;
  pathParameters: readonly string[];
  query: Schema | undefined;
  body: { kind: "json"; schema: Schema; isRequired: boolean } | { kind: "file" } | undefined;
  reply: Reply;
  retries: RetryClass;
  /** Whether the API also answers with CSV. */
  hasCsv: boolean;
  /** Whether `validate_only` makes the API check the request without carrying it out. */
  canValidate: boolean;
}

const IDEMPOTENCY_KEY = "Idempotency-Key";
const VALIDATE_ONLY = "validate_only";
const VALIDATION_RESULT = "ValidationResult";
const JSON_TYPE = "application/json";

/** The operations of the document that have a method in the SDK. */
export function operationsOf(document: ApiDocument): Operation[] {
  const operations = Object.entries(document.paths).flatMap(([path, methods]) =>
    Object.entries(methods).flatMap(([verb, operation]) => toOperation(path, verb, operation) ?? []),
  );
  const names = operations.map(({ namespace, method }) => `${namespace}.${method}`);
  const repeated = names.filter((name, index) => names.indexOf(name) !== index);
  if (repeated.length > 0) throw new Error(`several operations have the SDK method ${repeated.join(", ")}`);
  return operations;
}

function toOperation(path: string, verb: string, operation: OperationObject): Operation | undefined {
  const { operationId: id, parameters = [] } = operation;
  if (!Object.hasOwn(METHOD_NAMES, id)) throw new Error(`tools/sdk/method-names.ts has no name for ${id}`);
  const [namespace, method] = METHOD_NAMES[id]?.split(".") ?? [];
  if (namespace === undefined || method === undefined) return undefined;
  for (const parameter of parameters) checkParameter(parameter, id);
  const inPath = parameters.filter((parameter) => parameter.in === "path");
  const inQuery = parameters.filter(
    (parameter) => parameter.in === "query" && parameter.name !== VALIDATE_ONLY,
  );
  return {
    id,
    namespace,
    method,
    tag: operation.tags[0],
    summary: operation.summary,
    description: operation.description,
    verb: verb.toUpperCase(),
    path,
    pathParameters: inPath.map(({ name }) => name),
    query: inQuery.length === 0 ? undefined : querySchema(inQuery),
    body: bodyOf(operation),
    reply: replyOf(operation),
    retries: retriesOf(operation),
    hasCsv: Object.hasOwn(operation.responses[200]?.content ?? {}, "text/csv"),
    canValidate: parameters.some(({ name }) => name === VALIDATE_ONLY),
  };
}

/** The SDK writes a value of the query as one text, and has no other header than the key. */
function checkParameter({ name, in: place, schema }: ParameterObject, id: string): void {
  const isList = schema.type === "array" || schema.type === "object";
  if ((place === "query" && isList) || (place === "header" && name !== IDEMPOTENCY_KEY))
    throw new Error(`the SDK has no place for the parameter ${name} of ${id}`);
}

const querySchema = (parameters: readonly ParameterObject[]): Schema => ({
  type: "object",
  properties: Object.fromEntries(
    parameters.map(({ name, description, schema }) => [
      name,
      description === undefined ? schema : { ...schema, description },
    ]),
  ),
  required: parameters.filter(({ required }) => required).map(({ name }) => name),
});

function bodyOf({ requestBody }: OperationObject): Operation["body"] {
  if (!requestBody) return undefined;
  const schema = requestBody.content[JSON_TYPE]?.schema;
  return schema ? { kind: "json", schema, isRequired: requestBody.required === true } : { kind: "file" };
}

/** The reply, without the answer to `validate_only`, for which the SDK has a method of its own. */
function replyOf({ responses }: OperationObject): Reply {
  const contents = Object.entries(responses).flatMap(([status, { content }]) =>
    status.startsWith("2") && content ? [content] : [],
  );
  const schemas = contents
    .flatMap((content) => content[JSON_TYPE]?.schema ?? [])
    .flatMap((schema) => (schema.anyOf ? [...schema.anyOf] : [schema]))
    .filter((schema) => nameOf(schema) !== VALIDATION_RESULT);
  const [first, ...others] = schemas;
  if (first) {
    const kind = first.properties && "paging" in first.properties ? "page" : "json";
    return { kind, schema: others.length === 0 ? first : { anyOf: schemas } };
  }
  return { kind: contents.length === 0 ? "none" : "file" };
}

function retriesOf({ parameters = [], "x-repeatable": isRepeatable }: OperationObject): RetryClass {
  if (isRepeatable) return "repeatable";
  return parameters.some(({ name }) => name === IDEMPOTENCY_KEY) ? "keyed" : "single";
}
