import { STATUS_CODES } from "node:http";
import type { Scope } from "../../schema/enumerations.ts";
import type { TObject, TSchema } from "../../schema/types.ts";
import { RATE_LIMIT_HEADERS } from "../rate-limit.ts";
import {
  bodySchemaOf,
  isMediaReply,
  isRepeatable,
  MIB,
  type RawBody,
  type Route,
  replySchemaOf,
  statusesOf,
} from "../route.ts";
import type { Components, Json } from "./components.ts";
import { exampleOf } from "./example-of.ts";
import { COMMON_HEADERS, describeErrors, describeHeaders, errorsOf, type HeaderName } from "./responses.ts";

/** The OpenAPI operation of a route. */
export function describeRoute(route: Route, components: Components): Json {
  const [scopes, parameters] = [scopesOf(route), parametersOf(route, components)];
  const description = [route.description, fieldLimitNote(route), accessNote(route)]
    .filter(Boolean)
    .join("\n\n");
  return {
    operationId: route.operationId,
    summary: route.summary,
    ...(description ? { description } : {}),
    ...(route.tag ? { tags: [route.tag] } : {}),
    security: securityOf(route),
    ...(scopes.length > 0 ? { "x-required-scope": scopes } : {}),
    ...(isRepeatable(route) ? { "x-repeatable": true } : {}),
    ...(parameters.length > 0 ? { parameters } : {}),
    ...(route.body ? { requestBody: describeRequestBody(route, route.body, components) } : {}),
    responses: {
      ...Object.fromEntries(
        statusesOf(route).map((status) => [status, describeSuccess(route, status, components)]),
      ),
      ...(route.etag ? { 304: describeNotModified(route, components) } : {}),
      ...describeErrors(errorsOf(route), components),
    },
  };
}

const fieldLimitNote = ({ maxFieldBytes }: Route) =>
  maxFieldBytes === undefined
    ? undefined
    : `Each field of the body has at most ${toSize(maxFieldBytes)} of JSON; a larger one is 400.`;

const KIB = 1_024;
const toSize = (bytes: number) => (bytes >= MIB ? `${bytes / MIB} MiB` : `${bytes / KIB} KiB`);

const nameOf = ({ method, path }: Route) => `${method.toUpperCase()} ${path}`;

const parametersOf = (route: Route, components: Components): Json[] => [
  ...parametersIn("path", route, components),
  ...parametersIn("query", route, components),
  ...(route.idempotent ? [{ ...IDEMPOTENCY_KEY, required: route.requiresKey === true }] : []),
];

const IDEMPOTENCY_KEY: Json = {
  name: "Idempotency-Key",
  in: "header",
  description:
    "Identifies the operation for one day. Repeating the request with the same key and body returns the first response and does nothing else. 1 to 255 visible ASCII characters.",
  schema: { type: "string", minLength: 1, maxLength: 255, pattern: "^[\\x21-\\x7e]+$" },
};

function parametersIn(location: "path" | "query", route: Route, components: Components): Json[] {
  const { properties = {}, required = [] } =
    (location === "path" ? route.params : route.query) ?? ({} as TObject);
  return Object.entries<TSchema>(properties).map(([name, schema]) => {
    const { description, examples: _, ...plainSchema } = schema;
    const isRequired = required.includes(name);
    // The docs page prefills examples. Optional parameters have none, because a made-up cursor or filter
    // would only fail.
    const example = isRequired ? { example: exampleOf(schema, `${nameOf(route)} ${location}/${name}`) } : {};
    return {
      name,
      in: location,
      required: isRequired,
      ...(description ? { description } : {}),
      schema: components.schema(plainSchema as TSchema),
      ...example,
    };
  });
}

function describeRequestBody(route: Route, body: NonNullable<Route["body"]>, components: Components): Json {
  const schema = route.bodyDocs ?? bodySchemaOf(route);
  if (!schema) return describeRawBody(body as RawBody);
  // An empty body counts as {}, so it may be omitted when no field is required.
  const required = ((schema as Partial<TObject>).required ?? []).length > 0;
  const example = exampleOf(schema, `${nameOf(route)} body`);
  return { required, content: { "application/json": { schema: components.schema(schema), example } } };
}

function describeRawBody({ limit, mediaTypes = ["*/*"] }: RawBody): Json {
  const size = limit % MIB === 0 ? `${limit / MIB} MiB` : `${limit} bytes`;
  return {
    description: `The raw bytes, at most ${size}.`,
    required: true,
    content: Object.fromEntries(mediaTypes.map((type) => [type, { schema: mediaSchema(type) }])),
  };
}

const describeNotModified = (route: Route, components: Components): Json => ({
  description: "The response with the ETag in If-None-Match is still current",
  headers: describeHeaders(headersOf(route), components),
});

const headersOf = ({ scope, location, idempotent, etag }: Route): HeaderName[] => [
  ...COMMON_HEADERS,
  ...(scope === "public" ? [] : RATE_LIMIT_HEADERS),
  ...(location ? (["Location"] as const) : []),
  ...(idempotent ? (["Idempotent-Replay"] as const) : []),
  ...(etag ? (["ETag"] as const) : []),
];

function describeSuccess(route: Route, status: number, components: Components): Json {
  return {
    description: STATUS_CODES[status] ?? "Success",
    headers: describeHeaders(headersOf(route), components),
    ...(route.reply ? { content: replyContent(route, status, components) } : {}),
  };
}

function replyContent(route: Route, status: number, components: Components): Json {
  const { reply, otherwise, csv, eventStream } = route as Route & { reply: NonNullable<Route["reply"]> };
  if (isMediaReply(reply)) {
    const [type = ""] = reply.mediaType.split(";");
    return { [type]: { schema: mediaSchema(type) } };
  }
  const schema = replySchemaOf(route, status) as TSchema;
  const example = exampleOf(schema, `${nameOf(route)} reply`);
  const differing = otherwise?.status === status ? otherwise.example : undefined;
  return {
    "application/json": {
      schema: components.openSchema(schema),
      example: differing ? { ...(example as object), ...differing } : example,
    },
    ...(csv ? { "text/csv": { schema: mediaSchema("text/csv"), example: csv.example } } : {}),
    ...(eventStream
      ? { "text/event-stream": { schema: mediaSchema("text/event-stream"), example: eventStream.example } }
      : {}),
  };
}

/** A generic schema for content that has none. */
function mediaSchema(type: string): Json {
  if (type === "application/json") return { type: "object" };
  return type.startsWith("text/") ? { type: "string" } : { type: "string", format: "binary" };
}

export const SECURITY_SCHEMES: Readonly<Record<"apiKey" | "userJwt", Json>> = {
  apiKey: {
    type: "apiKey",
    in: "header",
    name: "x-svc-api-key",
    description:
      "The key of a client's backend. It has the scopes it was created with and is shown only once, when it is created. It is also accepted as `Authorization: Bearer <key>`. Send either an API key or a user token, not both.",
  },
  userJwt: {
    type: "http",
    scheme: "bearer",
    bearerFormat: "JWT",
    description:
      "The token of a user: `Authorization: Bearer <token>`. Its permissions follow from the user's role.",
  },
};

/** Exactly one of the two. */
export const ANY_CREDENTIAL: readonly Json[] = [{ apiKey: [] }, { userJwt: [] }];

/** The credentials that a route accepts. */
function securityOf({ scope, consoleOnly }: Route): readonly Json[] {
  if (scope === "public") return [];
  return consoleOnly ? [{ userJwt: [] }] : ANY_CREDENTIAL;
}

/** The scopes of a route; one of them is sufficient. */
function scopesOf({ scope }: Route): readonly Scope[] {
  if (scope === "public" || scope === "any_credential") return [];
  return typeof scope === "string" ? [scope] : scope;
}

const GATE_NOTES: Readonly<Record<string, string>> = {
  terms: "The client must have accepted the terms in force.",
};

const toCodeList = (words: readonly string[]) => words.map((word) => `\`${word}\``).join(" or ");

/** The access requirements of a route, in sentences. */
function accessNote(route: Route): string {
  const scopes = scopesOf(route);
  const sentences = [
    route.scope === "any_credential" && !route.consoleOnly ? "Any valid credential is accepted." : "",
    route.consoleOnly ? "Requires a user (user token or console); API keys are rejected." : "",
    scopes.length > 0 ? `Requires the scope ${toCodeList(scopes)}.` : "",
    route.roles ? `Requires the role ${toCodeList(route.roles)}.` : "",
    GATE_NOTES[route.gate ?? ""] ?? "",
  ];
  return sentences.filter(Boolean).join(" ");
}
