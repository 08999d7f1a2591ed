import { Ajv2020, type ValidateFunction } from "ajv/dist/2020.js";
import addFormats from "ajv-formats";
import t from "tap";
import { ERROR_CODES } from "../../../src/http/api-error.ts";
import { describeApi } from "../../../src/http/openapi/describe-api.ts";
import { exampleOf } from "../../../src/http/openapi/example-of.ts";
import { errorsOf } from "../../../src/http/openapi/responses.ts";
import { type Route, route } from "../../../src/http/route.ts";
import { EVENT_TYPES } from "../../../src/schema/enumerations.ts";
import {
  discriminated,
  knownOrOther,
  nullable,
  object,
  oneOf,
  rule,
  type TSchema,
  Type,
} from "../../../src/schema/types.ts";
import { productRoutes } from "../../fixtures/http/api.ts";
import { createReplyChecker } from "../../fixtures/http/replies.ts";
import { sampleRoutes } from "../../fixtures/http/sample-routes.ts";

// biome-ignore lint/suspicious/noExplicitAny: the test knows the document's structure
type Loose = any;

const describe = (routes: readonly Route[]): Loose =>
  JSON.parse(JSON.stringify(describeApi(routes, { publicUrl: "https://herald.example" })));

const routeOf = (given: Partial<Route> & { path: string }): Route =>
  route({
    method: "get",
    operationId: `get${given.path.slice(1).toUpperCase()}`,
    scope: "public",
    summary: "x",
    handle: () => undefined,
    ...given,
  } as Parameters<typeof route>[0]);

const replying = (path: string, reply: TSchema) => routeOf({ path, reply });

t.test("the document describes who may call an endpoint", async (t) => {
  const { paths } = describe(sampleRoutes);
  const [list, create] = [paths["/api/things"].get, paths["/api/things"].post];
  const remove = paths["/api/things/{thing_id}"].delete;
  t.same(list.security, [{ apiKey: [] }, { userJwt: [] }]);
  t.equal(list["x-required-scope"], undefined);
  t.match(list.description, /Any valid credential/);
  t.same(create["x-required-scope"], ["marketing:manage", "messages:send"]);
  t.match(create.description, /^It starts immediately\.\n\n.*`marketing:manage` or `messages:send`.*terms/);
  t.same(remove.security, [{ userJwt: [] }]);
  t.match(remove.description, /console.*`owner` or `admin`/);
  t.same(paths["/api/things/{thing_id}/picture"].get.security, []);
});

t.test("the document names the endpoints that can be repeated", async (t) => {
  const { paths } = describe([...sampleRoutes, routeOf({ path: "/b", method: "post", repeatable: true })]);
  t.equal(paths["/api/things"].get["x-repeatable"], true);
  t.equal(paths["/b"].post["x-repeatable"], true);
  for (const other of [paths["/api/things"].post, paths["/api/things/{thing_id}"].delete])
    t.notOk("x-repeatable" in other);
});

t.test("the document describes the parameters and responses of an endpoint", async (t) => {
  const { paths } = describe(sampleRoutes);
  const [list, create] = [paths["/api/things"].get, paths["/api/things"].post];
  const picture = paths["/api/things/{thing_id}/picture"];
  t.same(
    list.parameters.map(({ name, required }: Loose) => [name, required]),
    [
      ["state", false],
      ["limit", false],
      ["after", false],
      ["before", false],
    ],
  );
  t.match(list.parameters[1], {
    in: "query",
    schema: { default: 25 },
    description: "Maximum number of items per page",
  });
  for (const parameter of list.parameters)
    t.notOk("example" in parameter || "examples" in parameter.schema, "optional parameters have no example");
  t.match(picture.get.parameters, [{ name: "thing_id", in: "path", required: true, example: /^th_/ }]);
  t.equal(create.requestBody.required, true);
  t.same(create.requestBody.content["application/json"].example, { name: "Spring sale", budget: 100 });
  t.same(Object.keys(picture.put.requestBody.content), ["image/png", "image/jpeg"]);
  t.match(picture.put.requestBody.description, /2 MiB/);
  t.match(create.responses["201"].content["application/json"].example, {
    title: "A field named title",
    ended_at: String,
  });
  t.equal(paths["/api/things/{thing_id}"].delete.responses["204"].content, undefined);
  t.same(Object.keys(picture.get.responses["200"].content), ["image/png"]);
  t.same(Object.keys(list.responses["200"].content), ["application/json", "text/csv"]);
  t.match(list.responses["200"].content["text/csv"], { schema: { type: "string" }, example: /^id,name\r\n/ });
  t.match(create.responses["201"].headers["RateLimit-Limit"], {
    $ref: "#/components/headers/RateLimit-Limit",
  });
});

t.test("error responses are grouped by status and shared between routes", async (t) => {
  const { paths, components } = describe(sampleRoutes);
  const { responses } = paths["/api/things"].post;
  t.same(Object.keys(responses), [
    "201",
    "400",
    "401",
    "403",
    "408",
    "409",
    "413",
    "415",
    "429",
    "500",
    "503",
    "504",
  ]);
  t.same(responses["409"], { $ref: "#/components/responses/ChannelDisconnectedOrChannelTaken" });
  const conflict = components.responses.ChannelDisconnectedOrChannelTaken;
  t.match(conflict.description, /`channel_disconnected`: .*\n\n`channel_taken`: /);
  const json = conflict.content["application/json"];
  t.same(json.schema, { $ref: "#/components/schemas/ErrorBody" });
  t.match(json.examples.channel_taken.value, {
    error: "channel_taken",
    message: String,
    request_id: /^req_/,
  });
  t.ok(components.responses.RateLimited.headers["Retry-After"]);
  t.same(responses["401"], paths["/api/things"].get.responses["401"]);
});

t.test("the error codes of a route follow from its declaration", async (t) => {
  const [, create, remove, , picture] = sampleRoutes as [Route, Route, Route, Route, Route];
  const CASES: [string, Route, string][] = [
    ["a public GET", routeOf({ path: "/x" }), "validation_failed internal_error"],
    ["a route with an id", picture, "validation_failed not_found internal_error"],
    [
      "a route for any credential",
      routeOf({ path: "/x", scope: "any_credential" }),
      "validation_failed ambiguous_credentials unauthorized rate_limited internal_error overloaded temporarily_unavailable",
    ],
    [
      "a route with scope, gate, body and its own errors",
      create,
      "validation_failed ambiguous_credentials unauthorized insufficient_scope terms_not_accepted request_timeout channel_disconnected channel_taken payload_too_large unsupported_media_type rate_limited internal_error overloaded temporarily_unavailable outcome_unknown",
    ],
    [
      "a console-only route with roles",
      remove,
      "validation_failed ambiguous_credentials unauthorized insufficient_scope console_only role_insufficient not_found request_timeout payload_too_large unsupported_media_type rate_limited internal_error overloaded temporarily_unavailable outcome_unknown",
    ],
  ];
  for (const [name, given, codes] of CASES) t.equal(errorsOf(given).join(" "), codes, name);
});

t.test("an undeclared error response fails the test that gets it", async (t) => {
  const check = createReplyChecker([routeOf({ path: "/x" })]);
  const headers = new Headers({ "x-request-id": "req_1", "x-api-version": "1" });
  const answered = (path: string, status: number, error: string) => () =>
    check("GET", path, { status, headers, text: "", body: { error, message: "x", request_id: "req_1" } });
  t.throws(answered("/x", 409, "channel_taken"), /its route does not declare this error/);
  t.doesNotThrow(answered("/x", 400, "validation_failed"));
  t.doesNotThrow(answered("/y", 404, "not_found"));
  t.throws(answered("/y", 401, "unauthorized"), /does not declare this error/);
});

t.test("a schema with a title appears once in the document", async (t) => {
  const { paths, components } = describe(sampleRoutes);
  const thing = { $ref: "#/components/schemas/ThingDto" };
  t.same(paths["/api/things"].post.responses["201"].content["application/json"].schema, thing);
  const list = paths["/api/things"].get.responses["200"].content["application/json"].schema;
  t.same(list.properties.data.items, thing);
  t.same(list.properties.paging, { $ref: "#/components/schemas/Paging" });
  t.same(components.schemas.ThingDto.properties.state, { $ref: "#/components/schemas/ThingState" });
  t.equal(components.schemas.ThingDto.properties.title.type, "string", "a field named title stays a field");
});

t.test("two different schemas with the same title are rejected", async (t) => {
  const titled = (schema: TSchema) => object({ field: schema }, { title: "Same" });
  const routes = [replying("/a", titled(Type.Integer())), replying("/b", titled(Type.Boolean()))];
  t.throws(() => describe(routes), /two different schemas are called "Same"/);
  t.doesNotThrow(() =>
    describe([replying("/a", titled(Type.Integer())), replying("/b", titled(Type.Integer()))]),
  );
});

t.test("every documented route needs an operationId of its own", async (t) => {
  const alike = [routeOf({ path: "/a" }), { ...routeOf({ path: "/b" }), operationId: "getA" }];
  t.throws(() => describe(alike), /\/a and \/b both have the operationId getA/);
  const { operationId, ...unnamed } = routeOf({ path: "/a" });
  t.throws(() => describe([unnamed]), /get \/a has no operationId/);
});

t.test("every event type is a webhook with its payload", async (t) => {
  const { webhooks, components } = describe(sampleRoutes);
  t.same(Object.keys(webhooks), EVENT_TYPES);
  const { operationId, requestBody, responses, parameters } = webhooks["message.received"].post;
  t.equal(operationId, "onMessageReceived");
  t.same(requestBody.content["application/json"].schema, {
    $ref: "#/components/schemas/MessageReceivedEvent",
  });
  t.same(Object.keys(responses), ["410", "2XX", "default"]);
  t.ok(parameters.some(({ $ref }: Loose) => $ref === "#/components/parameters/webhook-signature"));
  t.same(components.schemas.MessageReceivedEvent.properties.type.const, "message.received");
});

t.test("a union with a discriminator names the component of each value", async (t) => {
  const variant = (type: string) => object({ type: Type.Literal(type) }, { title: `Of_${type}` });
  const union = discriminated("type", [variant("a"), variant("b")], { title: "Union" });
  const { components } = describe([replying("/x", union)]);
  t.same(components.schemas.Union.discriminator, {
    propertyName: "type",
    mapping: { a: "#/components/schemas/Of_a", b: "#/components/schemas/Of_b" },
  });
});

t.test("an object whose fields depend on a field is a union of whole objects", async (t) => {
  const variant = (title: string, type: TSchema, size: TSchema) => Type.Object({ type, size }, { title });
  const thing = object(
    { id: Type.Integer(), type: Type.String({ examples: ["a"] }), size: Type.Unknown({ examples: [1] }) },
    {
      title: "Thing",
      "x-variants": {
        tag: "type",
        variants: [
          variant("Measured", oneOf(["a", "b"]), Type.Integer()),
          variant("Other", knownOrOther(oneOf(["c"])), Type.Unknown()),
        ],
      },
    },
  );
  const { Thing, Measured, Other } = describe([replying("/x", thing)]).components.schemas;
  const [measured, rest] = ["#/components/schemas/Measured", "#/components/schemas/Other"];
  t.same(Thing, {
    title: "Thing",
    type: "object",
    required: ["type"],
    discriminator: { propertyName: "type", mapping: { a: measured, b: measured, c: rest } },
    anyOf: [{ $ref: measured }, { $ref: rest }],
  });
  for (const { properties, required } of [Measured, Other]) {
    t.same(Object.keys(properties), ["id", "type", "size"]);
    t.same(required, ["id", "type", "size"]);
  }
  t.same([Measured.properties.size, Other.properties.size], [{ type: "integer" }, {}]);
});

t.test("assets are not documented, and a tag needs a description", async (t) => {
  t.notOk(describe(sampleRoutes).paths["/things.css"]);
  t.throws(() => describe([{ ...routeOf({ path: "/x" }), tag: "Nowhere" }]), /no description: Nowhere/);
});

t.test("an example is built from the schema", async (t) => {
  const CASES: [string, TSchema, unknown][] = [
    ["the schema's own example", Type.String({ examples: ["a", "b"], default: "c" }), "a"],
    ["the default", Type.Boolean({ default: false }), false],
    ["the constant", Type.Literal("x"), "x"],
    ["the first value of an enum", Type.Unsafe({ type: "string", enum: ["p", "q"] }), "p"],
    ["the first branch of a union that is not null", Type.Union([Type.Null(), Type.Integer()]), 1],
    ["null", Type.Null(), null],
    ["an array with its minimum number of items", Type.Array(Type.Integer(), { minItems: 2 }), [1, 1]],
    [
      "a tuple with each item",
      Type.Unsafe({ type: "array", prefixItems: [Type.Integer(), Type.Null()] }),
      [1, null],
    ],
    ["a number within its bounds", Type.Integer({ minimum: 18, maximum: 65 }), 18],
    ["a negative number within its bounds", Type.Integer({ maximum: -3 }), -3],
    ["a number beside an exclusive bound", Type.Integer({ exclusiveMinimum: 5 }), 6],
    ["a multiple", Type.Integer({ minimum: 101, multipleOf: 50 }), 150],
    ["an object with its optional fields", object({ a: Type.Optional(Type.Integer()) }), { a: 1 }],
    ["a nullable object", nullable(object({ a: Type.Integer() })), { a: 1 }],
    [
      "an intersection with all fields",
      Type.Intersect([object({ a: Type.Integer() }), object({ b: Type.Null() })]),
      { a: 1, b: null },
    ],
    [
      "an object with a rule that is not a field",
      object({ a: Type.Integer() }, { allOf: [rule("a", "never b", { not: { required: ["b"] } })] }),
      { a: 1 },
    ],
    ["a value of a format", Type.String({ format: "date" }), "2026-11-01"],
  ];
  for (const [name, schema, expected] of CASES) t.same(exampleOf(schema, "here"), expected, name);
});

t.test("a field without an example is rejected with its path", async (t) => {
  const bad: TSchema[] = [
    Type.String(),
    Type.String({ pattern: "^x" }),
    Type.Unknown(),
    Type.Object({}),
    Type.Record(Type.String(), Type.Integer()),
  ];
  for (const schema of bad) {
    const routes = [replying("/x", object({ list: Type.Array(object({ field: schema })) }))];
    t.throws(() => describe(routes), /GET \/x reply\/list\/0\/field needs an example/);
  }
  const wanting = object({ q: Type.String() });
  t.throws(() => describe([routeOf({ path: "/x", query: wanting })]), /GET \/x query\/q needs/);
});

interface FoundExample {
  schema: object;
  example: unknown;
}

/** Every example with its schema. */
function examplesIn(node: Loose): FoundExample[] {
  if (typeof node !== "object" || node === null) return [];
  const { schema, example, examples, ...others } = node;
  const named = Object.values(examples ?? {}).map((one: Loose) => one.value);
  const own = schema ? [example, ...named].filter((one) => one !== undefined) : [];
  return [...own.map((example) => ({ schema, example })), ...Object.values(others).flatMap(examplesIn)];
}

/** Returns the examples that do not match their schemas, compiled as strictly as in the service. */
function wrongExamples(document: Loose): string[] {
  const ajv = new Ajv2020({ strict: true, strictRequired: false });
  // The keyword only helps readers: "oneOf" checks the value.
  ajv.addKeyword("discriminator");
  addFormats.default(ajv);
  for (const keyword of ["x-message", "x-field", "x-code", "x-fixed"]) ajv.addKeyword(keyword);
  // The shared parts are added once: compiling them again for each example would take seconds.
  const local = JSON.parse(JSON.stringify(document).replaceAll('"#/components/schemas/', '"shared#/$defs/'));
  ajv.addSchema({ $id: "shared", $defs: local.components.schemas });
  const compiled = new Map<string, ValidateFunction>(); // many parameters and replies have equal schemas
  return examplesIn(local).flatMap(({ schema, example }) => {
    const text = JSON.stringify(schema);
    const check = compiled.get(text) ?? ajv.compile(schema);
    compiled.set(text, check);
    return check(example) ? [] : [`${ajv.errorsText(check.errors)}: ${JSON.stringify(example)}`];
  });
}

/** Each document has the same webhooks: checking them in one is enough. */
const withoutWebhooks = (document: Loose): Loose => ({ ...document, webhooks: {} });

t.test("the check of examples detects an invalid example", async (t) => {
  const wrong = object({ a: Type.Integer({ examples: ["x"] }) }, { title: "Wrong" });
  t.match(wrongExamples(withoutWebhooks(describe([replying("/x", wrong)]))), [/a must be integer/]);
});

const VERBS =
  "accept|cancel|change|choose|complete|create|deauthorize|delete|disconnect|download|exchange|generate|get|list|login|logout|mark|open|pause|receive|refresh|register|resume|retry|revoke|rotate|send|show|start|stream|submit|update|upload|verify";
const OPERATION_NAME = new RegExp(`^(?:${VERBS})(?:[A-Z][A-Za-z]+)+$`);

/** The closed objects below a part of the document, references followed. */
function closedObjectsIn(part: Loose, document: Loose, seen = new Set<string>()): Loose[] {
  if (typeof part !== "object" || part === null) return [];
  const { $ref, example, examples, ...others } = part;
  if (typeof $ref === "string" && !seen.has($ref)) {
    const target = $ref
      .slice(2)
      .split("/")
      .reduce((node, name) => node[name], document);
    return closedObjectsIn(target, document, seen.add($ref));
  }
  const inside = Object.values(others).flatMap((child) => closedObjectsIn(child, document, seen));
  return part.additionalProperties === false ? [part, ...inside] : inside;
}

for (const [name, routes] of [
  ["the sample routes", sampleRoutes],
  ["the product's routes", productRoutes()],
] as const)
  t.test(`the document of ${name}`, async (t) => {
    const document = describe(routes);
    const operations = Object.values(document.paths).flatMap((path) =>
      Object.values(path as Loose),
    ) as Loose[];

    t.test("has examples that match their schemas", async (t) => {
      t.ok(examplesIn(document).length > 0);
      t.same(wrongExamples(routes === sampleRoutes ? withoutWebhooks(document) : document), []);
    });

    t.test("contains only known error codes", async (t) => {
      const codes = operations.flatMap(({ responses }) =>
        Object.entries<Loose>(responses)
          .filter(([status]) => Number(status) >= 400)
          .flatMap(([, { $ref }]) => {
            const response = document.components.responses[$ref.split("/").at(-1)];
            return Object.keys(response.content["application/json"].examples);
          }),
      );
      t.same(
        [...new Set(codes)].filter((code) => !(ERROR_CODES as string[]).includes(code)),
        [],
      );
    });

    t.test("names each operation with a verb and a noun", async (t) => {
      const ids = operations.map(({ operationId }) => operationId);
      t.same(
        ids.filter((id) => !OPERATION_NAME.test(id)),
        [],
      );
    });

    t.test("closes no object that Herald sends, and most objects that it receives", async (t) => {
      const sent = [operations.map(({ responses }) => responses), document.webhooks];
      t.same(closedObjectsIn(sent, document), []);
      t.ok(
        closedObjectsIn(
          operations.map(({ requestBody }) => requestBody),
          document,
        ).length > 0,
      );
    });

    t.test("has a tag and a summary for each operation", async (t) => {
      const chapters = document.tags.map((tag: Loose) => tag.name);
      for (const { operationId, tags, summary } of operations)
        t.ok(chapters.includes(tags?.[0]) && summary, operationId);
    });
  });
