import t from "tap";
import { issueSession } from "../src/domain/tenants/sessions.ts";
import { exampleOf } from "../src/http/openapi/example-of.ts";
import { bodySchemaOf, isRawBody, type Route, route } from "../src/http/route.ts";
import { HOUR } from "../src/runtime/durations.ts";
import { ROLE_SCOPES, ROLES, SCOPES, type Scope } from "../src/schema/enumerations.ts";
import { type TObject, type TSchema, Type } from "../src/schema/types.ts";
import { makeEvents } from "./fixtures/events/events.ts";
import { type Api, productRoutes, startApi } from "./fixtures/http/api.ts";
import type { Reply } from "./fixtures/http/replies.ts";
import { sendBatch } from "./fixtures/messages/batches.ts";
import { sendMessage } from "./fixtures/messages/messages.ts";
import { makeActor } from "./fixtures/tenants/actors.ts";
import { grantAdAccount } from "./fixtures/tenants/ad-accounts.ts";
import { makeChannel } from "./fixtures/tenants/channels.ts";
import { makeTenant, type Tenant } from "./fixtures/tenants/tenants.ts";

/** Checks the admission of every endpoint in the route table: no credential, two, an insufficient one, another client's object. */

type Headers = Record<string, string>;

/** A channel that needs no platform call, because no platform is running: chatapp-only endpoints reject it before. */
const CHANNEL_WITHOUT_PLATFORM_CALLS = { platform: "socialapp" } as const;

/** A revoked account needs no platform call: the object's own client gets 409. */
const adObject = (param: string) => async (tenant: Tenant, api: Api) => {
  await grantAdAccount(api, tenant, { accountId: "1600000000000101", status: "revoked" });
  return { [param]: "1" };
};

/** Functions that create an object of the client and return its path parameters, by the path up to its last parameter. */
const OBJECTS: Record<string, (tenant: Tenant, api: Api) => Promise<Record<string, string>>> = {
  "/api/channels/{channel_id}": async (tenant, api) => ({
    channel_id: await makeChannel(api, tenant, CHANNEL_WITHOUT_PLATFORM_CALLS),
  }),
  "/api/channels/{channel_id}/media/{media_id}": async (tenant, api) => ({
    channel_id: await makeChannel(api, tenant, CHANNEL_WITHOUT_PLATFORM_CALLS),
    media_id: "1",
  }),
  "/api/embed/sessions/{sessionId}": async (tenant, api) => {
    const { headers } = await tenant.createKey("webhooks:manage");
    const json = { allowed_origins: ["https://app.example.com"] };
    return { sessionId: (await api.call("POST", "/api/embed/sessions", { headers, json })).body.id };
  },
  "/api/keys/{id}": async (tenant) => ({ id: (await tenant.createKey("messages:send")).id }),
  "/api/webhooks/events/{id}": async (tenant, api) => ({
    id: (
      await makeEvents(api, tenant, { type: "platform.event", data: { field: "x", value: 1 } })
    )[0] as string,
  }),
  "/api/marketing/ad-accounts/{id}": async (tenant, api) => ({
    id: (await grantAdAccount(api, tenant, { status: "revoked" })).id,
  }),
  "/api/marketing/campaigns/{campaignId}": adObject("campaignId"),
  "/api/marketing/adsets/{adSetId}": adObject("adSetId"),
  "/api/marketing/ads/{adId}": adObject("adId"),
  "/api/marketing/creatives/{creativeId}": adObject("creativeId"),
  "/api/marketing/videos/{id}": adObject("id"),
  "/api/marketing/insights/reports/{reportRunId}": adObject("reportRunId"),
  "/api/outbound/batches/{batch_id}": async (tenant, api) => ({
    batch_id: await sendBatch(api, (await tenant.createKey("messages:send")).headers, {
      channelId: await makeChannel(api, tenant, CHANNEL_WITHOUT_PLATFORM_CALLS),
    }),
  }),
  "/api/outbound/messages/{message_id}": async (tenant, api) => ({
    message_id: await sendMessage(api, tenant),
  }),
  "/api/users/{id}": async (tenant) => ({ id: (await tenant.createUser("member")).id }),
};

/** Objects that only one user sees: functions that also return this user's credential. */
const PERSONAL_OBJECTS: Record<string, (tenant: Tenant, api: Api) => Promise<PersonalObject>> = {
  "/api/auth/sessions/{id}": async (tenant, api) => {
    const { id: userId, headers } = await tenant.createUser("member");
    const input = { userId, ttlMs: 1 * HOUR, details: {} };
    const session = await issueSession(api.db, makeActor(tenant.id), input);
    return { params: { id: session?.id as string }, headers };
  },
};

interface PersonalObject {
  params: Record<string, string>;
  headers: Headers;
}

/** Paths whose last parameter is a constant shared by all clients, so that no other client's object exists. */
const SHARED_PATHS = ["/api/webhooks/dispatch/{platform}"];

/** The endpoints under /api that need no credential. Any other public endpoint is a mistake. */
const PUBLIC_ENDPOINTS = ["GET /api/openapi.json", "POST /api/auth/login", "POST /api/auth/logout"];

const titleOf = ({ method, path }: Route) => `${method.toUpperCase()} ${path}`;

/** Returns a body and a query that the route accepts, made from the documented examples. */
function validInput(endpoint: Route): { json?: unknown; raw?: string; query?: string } {
  const title = titleOf(endpoint);
  const { properties = {}, required = [] }: Partial<TObject> = endpoint.query ?? {};
  // Some endpoints need the account only for objects that another client may have.
  const names = new Set([...required, ...Object.keys(properties).filter((name) => name === "ad_account_id")]);
  const params = [...names].map((name) => [
    name,
    String(exampleOf(properties[name] as TSchema, `${title} ${name}`)),
  ]);
  const query = params.length === 0 ? "" : `?${new URLSearchParams(params)}`;
  const schema = bodySchemaOf(endpoint);
  if (schema) return { query, json: exampleOf(schema, title) };
  return isRawBody(endpoint.body) ? { query, raw: "the bytes of a file" } : { query };
}

/** The path up to its last parameter. */
const objectPathOf = ({ path }: Route) => path.slice(0, path.lastIndexOf("}") + 1);

/** Creates an object of the client, and a credential that may use it. */
async function makeObject(endpoint: Route, tenant: Tenant, api: Api): Promise<PersonalObject> {
  const objectPath = objectPathOf(endpoint);
  const personal = await PERSONAL_OBJECTS[objectPath]?.(tenant, api);
  if (personal) return personal;
  const params = await OBJECTS[objectPath]?.(tenant, api);
  if (params) return { params, headers: await admittedHeaders(endpoint, tenant) };
  throw new Error(
    `${endpoint.path} names an object: add a function for "${objectPath}" to OBJECTS in test/openers.test.ts`,
  );
}

/** Sends a valid request with the given credential headers. */
function callEndpoint(api: Api, endpoint: Route, headers: Headers, params: Record<string, string> = {}) {
  const { query = "", ...body } = validInput(endpoint);
  const path = endpoint.path.replace(/\{(\w+)\}/g, (_, name) => params[name] ?? "x");
  return api.call(endpoint.method.toUpperCase(), path + query, { headers, ...body });
}

const errorOf = ({ status, body }: Reply) => [status, body.error];

const acceptedScopes = ({ scope }: Route): readonly Scope[] =>
  scope === "public" || scope === "any_credential" ? [] : typeof scope === "string" ? [scope] : scope;

/** Returns a credential with the required console access, scope and role. */
async function admittedHeaders(endpoint: Route, tenant: Tenant): Promise<Headers> {
  if (!endpoint.consoleOnly && !endpoint.roles) return (await tenant.createKey(...SCOPES)).headers;
  return (await tenant.createUser(endpoint.roles?.[0] ?? "owner")).headers;
}

/** Returns credentials without any accepted scope. May be empty, because every role may have one. */
async function headersWithoutScope(endpoint: Route, tenant: Tenant): Promise<Headers[]> {
  const accepted = acceptedScopes(endpoint);
  if (accepted.length === 0) return [];
  const roles = ROLES.filter((role) => !accepted.some((scope) => ROLE_SCOPES[role].has(scope)));
  const people = await Promise.all(roles.map((role) => tenant.createUser(role)));
  const others = SCOPES.filter((scope) => !accepted.includes(scope));
  const keys = endpoint.consoleOnly ? [] : [await tenant.createKey(...others), await tenant.createKey()];
  return [...people, ...keys].map(({ headers }) => headers);
}

/** Returns credentials with an accepted scope but without an accepted role. */
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

/** Returns the first result for the same arguments again. */
function remember<A extends string[], R>(make: (...args: A) => Promise<R>): (...args: A) => Promise<R> {
  const made = new Map<string, Promise<R>>();
  return (...args) => {
    const result = made.get(args.join()) ?? make(...args);
    made.set(args.join(), result);
    return result;
  };
}

/** A client whose calls are all refused, so that all endpoints can share its credentials. */
async function makeRefusedTenant(api: Api): Promise<Tenant> {
  const tenant = await makeTenant(api);
  return { ...tenant, createKey: remember(tenant.createKey), createUser: remember(tenant.createUser) };
}

const table = productRoutes();
const protectedRoutes = table.filter(({ scope }) => scope !== "public");

t.test("every endpoint", async (t) => {
  // Gates run after these checks and have their own tests, so they are open here.
  const gates = Object.fromEntries(table.map(({ gate = "" }) => [gate, async () => {}]));
  const api = await startApi(t, { gates });
  const refused = await makeRefusedTenant(api);

  // Without further levels of subtests: tap parses the output of each level again.
  for (const endpoint of protectedRoutes)
    t.test(titleOf(endpoint), async (t) => {
      const none = await callEndpoint(api, endpoint, {});
      t.same(errorOf(none), [401, "unauthorized"], "a credential is required");
      t.match(none.headers.get("www-authenticate"), /Bearer .*ApiKey /);
      const [key, person] = [await refused.createKey(...SCOPES), await refused.createUser("owner")];
      const both = await callEndpoint(api, endpoint, { ...key.headers, ...person.headers });
      t.same(errorOf(both), [400, "ambiguous_credentials"], "two credentials are refused");

      if (endpoint.consoleOnly) {
        const byKey = await callEndpoint(api, endpoint, key.headers);
        t.same(errorOf(byKey), [403, "console_only"], "an API key is refused");
      }
      for (const headers of await headersWithoutScope(endpoint, refused)) {
        const reply = await callEndpoint(api, endpoint, headers);
        const found = [...errorOf(reply), reply.body.required_scope];
        t.same(found, [403, "insufficient_scope", acceptedScopes(endpoint)[0]]);
      }
      for (const headers of await headersWithoutRole(endpoint, refused)) {
        const reply = await callEndpoint(api, endpoint, headers);
        t.same(errorOf(reply), [403, "role_insufficient"]);
      }

      if (!endpoint.params || SHARED_PATHS.includes(objectPathOf(endpoint))) return;
      const { params, headers } = await makeObject(endpoint, await makeTenant(api), api);
      const others = await admittedHeaders(endpoint, refused);
      const otherReply = await callEndpoint(api, endpoint, others, params);
      t.equal(otherReply.status, 404, "another client does not find the object");
      const ownReply = await callEndpoint(api, endpoint, headers, params);
      t.ok(
        ownReply.status !== 404 && ownReply.status < 500,
        `the object's own client gets status ${ownReply.status}`,
      );
    });
});

t.test("only the listed endpoints under /api are public", async (t) => {
  // Views and their assets are undocumented and therefore skipped.
  const open = table.filter(
    ({ scope, path, undocumented }) => scope === "public" && path.startsWith("/api/") && !undocumented,
  );
  t.same(open.map(titleOf).sort(), PUBLIC_ENDPOINTS);
});

t.test("API keys, users and the audit log are restricted to owners and admins in the console", async (t) => {
  const managed = table.filter(({ path }) => /^\/api\/(keys|users|audit)\b/.test(path));
  for (const endpoint of managed) {
    t.ok(endpoint.consoleOnly, titleOf(endpoint));
    // Every user may change their own password.
    if (!endpoint.path.endsWith("/password")) t.same(endpoint.roles, ["owner", "admin"], titleOf(endpoint));
  }
});

t.test("every path in OBJECTS, PERSONAL_OBJECTS and SHARED_PATHS exists in the route table", async (t) => {
  for (const objectPath of [...Object.keys(OBJECTS), ...Object.keys(PERSONAL_OBJECTS), ...SHARED_PATHS])
    t.ok(
      table.some(({ path }) => path.startsWith(objectPath)),
      objectPath,
    );
});

t.test("a route without a scope does not compile", async (t) => {
  // @ts-expect-error: the scope is missing
  const forgotten = route({
    method: "get",
    path: "/forgotten",
    summary: "Read an object without a scope",
    reply: Type.Object({}),
    handle: () => ({}),
  });
  t.equal(forgotten.scope, undefined);
});
