import t from "tap";
import { exampleOf } from "../../src/http/openapi/example-of.ts";
import { bodySchemaOf, type Route } from "../../src/http/route.ts";
import { SCOPES } from "../../src/schema/enumerations.ts";
import type { TObject } from "../../src/schema/types.ts";
import { type HostileService, sharedHostileService } from "../fixtures/hostile/service.ts";
import { hostileTexts } from "../fixtures/hostile/strings.ts";
import { productRoutes } from "../fixtures/http/api.ts";
import { makeChannel } from "../fixtures/tenants/channels.ts";
import { makeTenant } from "../fixtures/tenants/tenants.ts";
import { FIRST_TERMS_VERSION } from "../fixtures/tenants/terms.ts";

/** Sends hostile input to every endpoint of the route table, so that new endpoints join by themselves. */

const titleOf = ({ method, path }: Route) => `${method.toUpperCase()} ${path}`;

const examplesOf = (schema: TObject | undefined, title: string): Record<string, unknown> =>
  schema ? (exampleOf(schema, title) as Record<string, unknown>) : {};

interface HostileRequest {
  path: string;
  raw?: string;
}

const pathOf = (endpoint: Route, params: Record<string, unknown>) =>
  endpoint.path.replaceAll(/\{(\w+)\}/g, (_, name) => encodeURIComponent(String(params[name])));

/** A path or query longer than this is refused with the headers. */
const MAX_URL_TEXT_CHARS = 4_000;
/** All problems of a body up to 64 KiB are collected, so this is the most expensive size. */
const LONG_TEXT_CHARS = 60_000;
const PUBLIC_TEXT_CHARS = 15_000;

let [textCount, shapeCount] = [0, 0];

/**
 * One text per field, another for the next field: every pattern is proven to take linear time by the static check, so
 * not each has to be tried with each text.
 */
const nextOf = (texts: readonly string[]) => texts[textCount++ % texts.length] as string;

const fieldsOf = (schema: TObject | undefined) => Object.keys(schema?.properties ?? {});

const URL_TEXTS = hostileTexts(MAX_URL_TEXT_CHARS);

/** Each parameter in turn has a hostile text. */
function* hostileParameters(endpoint: Route, params: Record<string, unknown>): Generator<HostileRequest> {
  for (const name of fieldsOf(endpoint.params))
    yield { path: pathOf(endpoint, { ...params, [name]: nextOf(URL_TEXTS) }) };
  for (const name of fieldsOf(endpoint.query))
    yield { path: `${pathOf(endpoint, params)}?${name}=${encodeURIComponent(nextOf(URL_TEXTS))}` };
}

const attacksOf = (length: number) => ({
  texts: hostileTexts(length),
  shapes: [
    `{${Array.from({ length: length / 10 }, (_, index) => `"f${index}":1`).join()}}`,
    `{"a":${"[".repeat(length)}${"]".repeat(length)}}`,
    `{"a":[${"[],".repeat(length / 3)}[]]}`,
    `{"a":"${"\\".repeat(length)}`,
    `{"a":${"9".repeat(length)}}`,
  ],
});

const PUBLIC_ATTACKS = attacksOf(PUBLIC_TEXT_CHARS);
const ATTACKS = attacksOf(LONG_TEXT_CHARS);

/**
 * Each field in turn has a hostile text, and the body as a whole a hostile shape: one per endpoint, another for the next,
 * because the same code reads the shapes and reports their problems for all endpoints.
 */
function* hostileBodies(endpoint: Route, path: string): Generator<HostileRequest> {
  const schema = bodySchemaOf(endpoint) as TObject | undefined;
  if (endpoint.method === "get" || (endpoint.body && !schema)) return;
  const example = examplesOf(schema, titleOf(endpoint));
  const { texts, shapes } = endpoint.scope === "public" ? PUBLIC_ATTACKS : ATTACKS;
  for (const field of fieldsOf(schema))
    yield { path, raw: JSON.stringify({ ...example, [field]: nextOf(texts) }) };
  yield { path, raw: shapes[shapeCount++ % shapes.length] as string };
}

function hostileRequests(endpoint: Route): HostileRequest[] {
  const params = examplesOf(endpoint.params, titleOf(endpoint));
  const path = pathOf(endpoint, params);
  return [...hostileParameters(endpoint, params), ...hostileBodies(endpoint, path)];
}

/** Returns the credential headers that each endpoint admits. */
async function makeCredentials(service: HostileService) {
  const tenant = await makeTenant(service);
  const [key, owner] = [await tenant.createKey(...SCOPES), await tenant.createUser("owner")];
  await service.call("POST", "/api/marketing/terms/accept", {
    headers: owner.headers,
    json: { version: FIRST_TERMS_VERSION },
  });
  return ({ scope, consoleOnly, roles }: Route): Record<string, string> => {
    if (scope === "public") return {};
    return consoleOnly || roles ? owner.headers : key.headers;
  };
}

t.test("hostile requests", async (t) => {
  const service = await sharedHostileService();

  t.test("hostile input to any endpoint delays no other request", async (t) => {
    const headersOf = await makeCredentials(service);
    await service.underProbes(t, "every endpoint", async () => {
      for (const endpoint of productRoutes()) {
        const headers = headersOf(endpoint);
        const replies = await Promise.all(
          hostileRequests(endpoint).map(({ path, ...body }) =>
            service.call(endpoint.method.toUpperCase(), path, { headers, ...body }),
          ),
        );
        const statuses = [...new Set(replies.map(({ status }) => status))];
        t.ok(
          statuses.every((status) => status !== 500),
          `${titleOf(endpoint)} answers ${statuses.join(", ")}`,
        );
      }
    });
  });

  t.test("large bodies delay no other request", async (t) => {
    const { headers } = await (await makeTenant(service)).createKey(...SCOPES);
    const TEN_MB = 10_000_000;
    const encode = (text: string) => new TextEncoder().encode(text);
    const BODIES: [string, Uint8Array<ArrayBuffer>][] = [
      ["empty arrays", encode(`{"to":[${"[],".repeat(TEN_MB / 3)}[]]}`)],
      ["levels", encode(`{"to":${"[".repeat(TEN_MB / 2)}${"]".repeat(TEN_MB / 2)}}`)],
    ];
    const post = (path: string, raw: Uint8Array<ArrayBuffer>, headers: Record<string, string>) =>
      fetch(service.address + path, { method: "POST", body: raw, headers }).then(
        async (response) => {
          await response.text();
          return response.status;
        },
        () => 0, // the server may answer and close before the whole body is sent
      );
    for (const [name, raw] of BODIES) {
      const attack = (path: string, count: number, headers: Record<string, string> = {}) =>
        Promise.all(Array.from({ length: count }, () => post(path, raw, headers)));
      const statuses = await service.underProbes(t, `ten megabytes of ${name}`, async () => [
        ...(await attack("/api/auth/login", 1)), // refused by its length, like the next
        ...(await attack("/platform/webhook", 1)),
        ...(await attack("/api/outbound/send", 4, headers)),
      ]);
      t.same(
        new Set(statuses),
        new Set(statuses.filter((status) => [0, 400, 413, 503].includes(status))),
        name,
      );
    }
  });

  t.test("templates with long integers delay no other request", async (t) => {
    const tenant = await makeTenant(service);
    const channel = await makeChannel(service, tenant);
    const { headers } = await tenant.createKey("templates:manage");
    const submit = (raw: Buffer) => service.call("POST", "/api/templates/submit", { headers, raw });
    const bodyOf = (integers: readonly string[]) =>
      Buffer.from(
        `{"channel_id":"${channel}","template_data":{"name":"n","language":"en","category":"UTILITY","components":[{"ids":[${integers.join()}]}]}}`,
      );
    const CASES: [name: string, integers: string[], status: number][] = [
      ["20,000 integers of 100 digits", Array(20_000).fill("9".repeat(100)), 502], // the platform is not reachable
      ["an integer of ten million digits", ["9".repeat(10_000_000)], 400],
    ];
    await submit(bodyOf(["1"])); // the first one includes the start-up
    for (const [name, integers, status] of CASES) {
      const raw = bodyOf(integers);
      const replies = await service.underProbes(t, name, () =>
        Promise.all(Array.from({ length: 3 }, () => submit(raw))),
      );
      t.same(new Set(replies.map((reply) => reply.status)), new Set([status]), name);
    }
  });
});
