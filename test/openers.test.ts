import t from "tap";
import { exampleOf } from "../src/http/openapi/example-of.ts";
import { isRawBody, type Route, route } from "../src/http/route.ts";
import { ROLE_SCOPES, ROLES, SCOPES, type Scope } from "../src/schema/enumerations.ts";
import { type TObject, type TSchema, Type } from "../src/schema/types.ts";
import { makeEvents } from "./fixtures/events/events.ts";
import { type Api, productRoutes, startApi } from "./fixtures/http/api.ts";
import { sendMessage } from "./fixtures/messages/messages.ts";
import { grantAdAccount } from "./fixtures/tenants/ad-accounts.ts";
import { makeChannel } from "./fixtures/tenants/channels.ts";
import { makeTenant, type Tenant } from "./fixtures/tenants/tenants.ts";

/** How every endpoint opens: no credential, two, too little of one, another client's object. Made from the route table. */

type Headers = Record<string, string>;

/** A channel in whose name the platform, which is not there, need not be asked: what only chatapp has is refused. */
const CHANNEL_WITHOUT_PLATFORM_CALLS = { platform: "socialapp" } as const;

/** Makes an object of this client and answers the parameters that name it, by the path as far as its last parameter. */
const OBJECTS: Record<string, (tenant: Tenant, api: Api) => Promise<Record<string, string>>> = {
  "/api/channels/{channel_id}": async (tenant, api) => ({
    channel_id: await makeChannel(api, tenant, CHANNEL_WITHOUT_PLATFORM_CALLS),
  }),
  "/api/channels/{channel_id}/media/{media_id}": async (tenant, api) => ({
    channel_id: await makeChannel(api, tenant, CHANNEL_WITHOUT_PLATFORM_CALLS),
    media_id: "1",
  }),
  "/api/keys/{id}": async (tenant) => ({ id: (await tenant.createKey("messages:send")).id }),
  "/api/webhooks/events/{id}": async (tenant, api) => ({
    id: (await makeEvents(api, tenant, {}))[0] as string,
  }),
  "/api/marketing/ad-accounts/{id}": async (tenant, api) => ({
    id: (await grantAdAccount(api, tenant, { status: "revoked" })).id,
  }),
  "/api/outbound/messages/{message_id}": async (tenant, api) => ({
    message_id: await sendMessage(api, tenant),
  }),
  "/api/users/{id}": async (tenant) => ({ id: (await tenant.createUser("member")).id }),
};

/** Paths whose last parameter is a word that means the same to every client: there is no object to be another's. */
const SHARED_PATHS = ["/api/webhooks/dispatch/{platform}"];

/** What nobody needs a credential for under /api. Whatever else is open to everybody there was opened by mistake. */
const PUBLIC_ENDPOINTS = ["GET /api/openapi.json", "POST /api/auth/login", "POST /api/auth/logout"];

const titleOf = ({ method, path }: Route) => `${method.toUpperCase()} ${path}`;

/** A body and a query that the route accepts: the documentation's examples. */
function validInput(endpoint: Route): { json?: unknown; raw?: string; query?: string } {
  const title = titleOf(endpoint);
  const { properties = {}, required = [] }: Partial<TObject> = endpoint.query ?? {};
  const requiredParams = required.map((name) => [
    name,
    String(exampleOf(properties[name] as TSchema, `${title} ${name}`)),
  ]);
  const query = requiredParams.length === 0 ? "" : `?${new URLSearchParams(requiredParams)}`;
  if (endpoint.body === undefined) return { query };
  if (isRawBody(endpoint.body)) return { query, raw: "the bytes of a file" };
  return { query, json: exampleOf(endpoint.body, title) };
}

/** The path as far as its last parameter. */
const objectPathOf = ({ path }: Route) => path.slice(0, path.lastIndexOf("}") + 1);

function objectFactoryOf(endpoint: Route) {
  const objectPath = objectPathOf(endpoint);
  const make = OBJECTS[objectPath];
  if (make) return make;
  throw new Error(
    `${endpoint.path} names an object: add to OBJECTS in test/openers.test.ts how "${objectPath}" is made`,
  );
}

/** Sends what the route accepts, as somebody. */
function callEndpoint(api: Api, endpoint: Route, headers: Headers, params: Record<string, string> = {}) {
  const { query = "", ...body } = validInput(endpoint);
  const path = endpoint.path.replace(/\{(\w+)\}/g, (_, name) => params[name] ?? "x");
  return api.call(endpoint.method.toUpperCase(), path + query, { headers, ...body });
}

const acceptedScopes = ({ scope }: Route): readonly Scope[] =>
  scope === "public" || scope === "any credential" ? [] : typeof scope === "string" ? [scope] : scope;

/** Somebody who passes console, scope and role. */
async function admittedHeaders(endpoint: Route, tenant: Tenant): Promise<Headers> {
  if (!endpoint.consoleOnly && !endpoint.roles) return (await tenant.createKey(...SCOPES)).headers;
  return (await tenant.createUser(endpoint.roles?.[0] ?? "owner")).headers;
}

/** Those who lack every scope that would do. There may be nobody such: each role may have one of them. */
async function headersWithoutScope(endpoint: Route, tenant: Tenant): Promise<Headers[]> {
  const accepted = acceptedScopes(endpoint);
  if (accepted.length === 0) return [];
  const roles = ROLES.filter((role) => !accepted.some((scope) => ROLE_SCOPES[role].has(scope)));
  const people = await Promise.all(roles.map((role) => tenant.createUser(role)));
  const others = SCOPES.filter((scope) => !accepted.includes(scope));
  const keys = endpoint.consoleOnly ? [] : [await tenant.createKey(...others), await tenant.createKey()];
  return [...people, ...keys].map(({ headers }) => headers);
}

/** Those whose scopes would do, but whose role does not. */
async function headersWithoutRole({ roles, ...endpoint }: Route, tenant: Tenant): Promise<Headers[]> {
  if (!roles) return [];
  const accepted = acceptedScopes(endpoint);
  const others = ROLES.filter((role) => !roles.includes(role)).filter(
    (role) => accepted.length === 0 || accepted.some((scope) => ROLE_SCOPES[role].has(scope)),
  );
  const people = await Promise.all(others.map((role) => tenant.createUser(role)));
  const keys = endpoint.consoleOnly ? [] : [await tenant.createKey(...SCOPES)];
  return [...people, ...keys].map(({ headers }) => headers);
}

const table = productRoutes();
const protectedRoutes = table.filter(({ scope }) => scope !== "public");

t.test("every endpoint", async (t) => {
  // Gates come after all this and have tests of their own; here they stand open.
  const gates = Object.fromEntries(table.map(({ gate = "" }) => [gate, async () => {}]));
  const api = await startApi(t, { gates });

  for (const endpoint of protectedRoutes)
    t.test(titleOf(endpoint), async (t) => {
      const tenant = await makeTenant(api);

      t.test("needs a credential, and one alone", async (t) => {
        const none = await callEndpoint(api, endpoint, {});
        t.equal(none.status, 401);
        t.equal(none.body.error, "unauthorized");
        t.match(none.headers.get("www-authenticate"), /Bearer .*ApiKey /);
        const [key, person] = [await tenant.createKey(...SCOPES), await tenant.createUser("owner")];
        const both = await callEndpoint(api, endpoint, { ...key.headers, ...person.headers });
        t.equal(both.status, 400);
        t.equal(both.body.error, "ambiguous_credentials");
      });

      t.test("needs what it says it needs", async (t) => {
        if (endpoint.consoleOnly) {
          const byKey = await callEndpoint(api, endpoint, (await tenant.createKey(...SCOPES)).headers);
          t.equal(byKey.status, 403);
          t.equal(byKey.body.error, "console_only");
        }
        for (const headers of await headersWithoutScope(endpoint, tenant)) {
          const reply = await callEndpoint(api, endpoint, headers);
          t.equal(reply.status, 403);
          t.equal(reply.body.error, "insufficient_scope");
          t.equal(reply.body.required_scope, acceptedScopes(endpoint)[0]);
        }
        for (const headers of await headersWithoutRole(endpoint, tenant)) {
          const reply = await callEndpoint(api, endpoint, headers);
          t.equal(reply.status, 403);
          t.equal(reply.body.error, "role_insufficient");
        }
      });

      if (!endpoint.params || SHARED_PATHS.includes(objectPathOf(endpoint))) return;
      t.test("does not find another client's object, which its own client does", async (t) => {
        const params = await objectFactoryOf(endpoint)(tenant, api);
        const otherTenant = await makeTenant(api);
        const otherReply = await callEndpoint(
          api,
          endpoint,
          await admittedHeaders(endpoint, otherTenant),
          params,
        );
        t.equal(otherReply.status, 404);
        const ownReply = await callEndpoint(api, endpoint, await admittedHeaders(endpoint, tenant), params);
        t.ok(
          ownReply.status !== 404 && ownReply.status < 500,
          `its own client is answered ${ownReply.status}`,
        );
      });
    });
});

t.test("nothing under /api is open to everybody but what is meant to be", async (t) => {
  // Pages and their assets are left out of the documentation.
  const open = table.filter(
    ({ scope, path, undocumented }) => scope === "public" && path.startsWith("/api/") && !undocumented,
  );
  t.same(open.map(titleOf).sort(), PUBLIC_ENDPOINTS);
});

t.test("keys, users and the audit log are for owners and admins in the console", async (t) => {
  const managed = table.filter(({ path }) => /^\/api\/(keys|users|audit)\b/.test(path));
  for (const endpoint of managed) {
    t.ok(endpoint.consoleOnly, titleOf(endpoint));
    // Everybody changes a password, their own.
    if (!endpoint.path.endsWith("/password")) t.same(endpoint.roles, ["owner", "admin"], titleOf(endpoint));
  }
});

t.test("the table of this file names nothing that is gone", async (t) => {
  for (const objectPath of [...Object.keys(OBJECTS), ...SHARED_PATHS])
    t.ok(
      table.some(({ path }) => path.startsWith(objectPath)),
      objectPath,
    );
});

t.test("a route that does not say who may ask does not compile", async (t) => {
  // @ts-expect-error: the scope is missing
  const forgotten = route({
    method: "get",
    path: "/forgotten",
    summary: "Says nothing of its scope",
    reply: Type.Object({}),
    handle: () => ({}),
  });
  t.equal(forgotten.scope, undefined);
});
