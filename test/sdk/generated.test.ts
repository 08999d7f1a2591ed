import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import t from "tap";
import { describeApi } from "../../src/http/openapi/describe-api.ts";
import { packageRoot } from "../../src/runtime/package-root.ts";
import { generateSdk } from "../../tools/sdk/generate.ts";
import { METHOD_NAMES } from "../../tools/sdk/method-names.ts";
import { operationsOf } from "../../tools/sdk/operations.ts";
import { productRoutes } from "../fixtures/http/api.ts";

const folder = join(packageRoot(), "sdk/src/generated");
const document = JSON.parse(
  JSON.stringify(describeApi(productRoutes(), { publicUrl: "https://herald.example" })),
);

t.test("sdk/src/generated matches the API; npm run sdk updates it", async (t) => {
  const files = generateSdk(document);
  t.same(readdirSync(folder).sort(), Object.keys(files).sort());
  for (const [name, text] of Object.entries(files))
    t.ok(readFileSync(join(folder, name), "utf8") === text, name);
});

t.test("every operation of the API has an SDK method or is excluded by name", async (t) => {
  const ids = Object.values(document.paths).flatMap((methods) =>
    Object.values(methods as object).map(({ operationId }) => operationId),
  );
  t.same(Object.keys(METHOD_NAMES).sort(), ids.sort());
  const excluded = ids.filter((id) => METHOD_NAMES[id] === undefined);
  t.equal(operationsOf(document).length, ids.length - excluded.length);
});

t.test("an operation without a name in the SDK stops the generator", async (t) => {
  const paths = { "/api/new": { get: { operationId: "getNew", tags: ["Service"], responses: {} } } };
  t.throws(() => generateSdk({ ...document, paths }), /no name for getNew/);
});

t.test("a document with a shape that the generator does not know stops it", async (t) => {
  const text = { type: "string" };
  const schemas: Record<string, object> = {
    nullable: { type: "string", nullable: true },
    patternProperties: { type: "object", patternProperties: { "^x": text } },
    prefixItems: { type: "array", prefixItems: [text] },
    "allOf without a type": { allOf: [{ $ref: "#/components/schemas/MessageDto" }, { type: "object" }] },
    "a reference must be": { $ref: "#/components/schemas/MessageDto", properties: { more: text } },
    "to a component": { $ref: "#/$defs/Other" },
    "variants beside": { properties: { type: text }, anyOf: [{ required: ["type"] }] },
    "no TypeScript type": { type: ["string", "null"] },
  };
  for (const [reason, schema] of Object.entries(schemas))
    t.throws(
      () => generateSdk({ ...document, paths: {}, components: { schemas: { Odd: schema } } }),
      new RegExp(reason),
    );
  const operation = { operationId: "getSetup", tags: ["Service"], responses: {} };
  for (const parameter of [
    { name: "ids", in: "query", schema: { type: "array", items: text } },
    { name: "X-Other", in: "header", schema: text },
  ]) {
    const paths = { "/api/setup": { get: { ...operation, parameters: [parameter] } } };
    t.throws(() => generateSdk({ ...document, paths }), /no place for/);
  }
});
