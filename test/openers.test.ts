import t from "tap";
import { exampleOf } from "../src/http/openapi/example-of.ts";
import { isRawBody, type Route, route } from "../src/http/route.ts";
import { ROLE_SCOPES, ROLES, SCOPES, type Scope } from "../src/schema/enumerations.ts";
import { type TObject, type TSchema, Type } from "../src/schema/types.ts";
import { record } from "./fixtures/events/events.ts";
import { type Api, productRoutes, startApi } from "./fixtures/http/api.ts";
import { send } from "./fixtures/messages/messages.ts";
import { grantAdAccount } from "./fixtures/tenants/ad-accounts.ts";
import { connect } from "./fixtures/tenants/channels.ts";
import { makeTenant, type Tenant } from "./fixtures/tenants/tenants.ts";

/** How every endpoint opens: no credential, two, too little of one, another client's object. Made from the route table. */

type Headers = Record<string, string>;

/** A channel in whose name the platform, which is not there, need not be asked: what only chatapp has is refused. */
const MUTE = { platform: "socialapp" } as const;

/** Makes an object of this client and answers the parameters that name it, by the path as far as its last parameter. */
const OBJECTS: Record<string, (tenant: Tenant, api: Api) => Promise<Record<string, string>>> = {
  "/api/channels/{channel_id}": async (tenant, api) => ({ channel_id: await connect(api, tenant, MUTE) }),
  "/api/channels/{channel_id}/media/{media_id}": async (tenant, api) => ({
    channel_id: await connect(api, tenant, MUTE),
    media_id: "1",
  }),
  "/api/keys/{id}": async (tenant) => ({ id: (await tenant.key("messages:send")).id }),
  "/api/webhooks/events/{id}": async (tenant, api) => ({ id: (await record(api, tenant, {}))[0] as string }),
  "/api/marketing/ad-accounts/{id}": async (tenant, api) => ({
    id: (await grantAdAccount(api, tenant, { status: "revoked" })).id,
  }),
  "/api/outbound/messages/{message_id}": async (tenant, api) => ({ message_id: await send(api, tenant) }),
  "/api/users/{id}": async (tenant) => ({ id: (await tenant.person("member")).id }),
};

/** Paths whose last parameter is a word that means the same to every client: there is no object to be another's. */
const WORDS = ["/api/webhooks/dispatch/{platform}"];

/** What nobody needs a credential for under /api. Whatever else is open to everybody there was opened by mistake. */
const PUBLIC = ["GET /api/openapi.json", "POST /api/auth/login", "POST /api/auth/logout"];

const titleOf = ({ method, path }: Route) => `${method.toUpperCase()} ${path}`;

/** A body and a query that the route accepts: the documentation's examples. */
function validInput(given: Route): { json?: unknown; raw?: string; query?: string } {
  const title = titleOf(given);
  const { properties = {}, required = [] }: Partial<TObject> = given.query ?? {};
  const asked = required.map((name) => [
    name,
    String(exampleOf(properties[name] as TSchema, `${title} ${name}`)),
  ]);
  const query = asked.length === 0 ? "" : `?${new URLSearchParams(asked)}`;
  if (given.body === undefined) return { query };
  if (isRawBody(given.body)) return { query, raw: "the bytes of a file" };
  return { query, json: exampleOf(given.body, title) };
}

/** The path as far as its last parameter. */
const placeOf = ({ path }: Route) => path.slice(0, path.lastIndexOf("}") + 1);

function objectOf(given: Route) {
  const place = placeOf(given);
  const make = OBJECTS[place];
  if (make) return make;
  throw new Error(
    `${given.path} names an object: add to OBJECTS in test/openers.test.ts how "${place}" is made`,
  );
}

/** Sends what the route accepts, as somebody. */
function ask(api: Api, given: Route, headers: Headers, params: Record<string, string> = {}) {
  const { query = "", ...body } = validInput(given);
  const path = given.path.replace(/\{(\w+)\}/g, (_, name) => params[name] ?? "x");
  return api.call(given.method.toUpperCase(), path + query, { headers, ...body });
}

const acceptedScopes = ({ scope }: Route): readonly Scope[] =>
  scope === "public" || scope === "any credential" ? [] : typeof scope === "string" ? [scope] : scope;

/** Somebody who passes console, scope and role. */
async function admitted(given: Route, tenant: Tenant): Promise<Headers> {
  if (!given.consoleOnly && !given.roles) return (await tenant.key(...SCOPES)).headers;
  return (await tenant.person(given.roles?.[0] ?? "owner")).headers;
}

/** Those who lack every scope that would do. There may be nobody such: each role may have one of them. */
async function unscoped(given: Route, tenant: Tenant): Promise<Headers[]> {
  const accepted = acceptedScopes(given);
  if (accepted.length === 0) return [];
  const roles = ROLES.filter((role) => !accepted.some((scope) => ROLE_SCOPES[role].has(scope)));
  const people = await Promise.all(roles.map((role) => tenant.person(role)));
  const others = SCOPES.filter((scope) => !accepted.includes(scope));
  const keys = given.consoleOnly ? [] : [await tenant.key(...others), await tenant.key()];
  return [...people, ...keys].map(({ headers }) => headers);
}

/** Those whose scopes would do, but whose role does not. */
async function unranked({ roles, ...given }: Route, tenant: Tenant): Promise<Headers[]> {
  if (!roles) return [];
  const accepted = acceptedScopes(given);
  const others = ROLES.filter((role) => !roles.includes(role)).filter(
    (role) => accepted.length === 0 || accepted.some((scope) => ROLE_SCOPES[role].has(scope)),
  );
  const people = await Promise.all(others.map((role) => tenant.person(role)));
  const keys = given.consoleOnly ? [] : [await tenant.key(...SCOPES)];
  return [...people, ...keys].map(({ headers }) => headers);
}

const table = productRoutes();
const guarded = table.filter(({ scope }) => scope !== "public");

t.test("every endpoint", async (t) => {
  // Gates come after all this and have tests of their own; here they stand open.
  const gates = Object.fromEntries(table.map(({ gate = "" }) => [gate, async () => {}]));
  const api = await startApi(t, { gates });

  for (const given of guarded)
    t.test(titleOf(given), async (t) => {
      const tenant = await makeTenant(api);

      t.test("needs a credential, and one alone", async (t) => {
        const none = await ask(api, given, {});
        t.equal(none.status, 401);
        t.equal(none.body.error, "unauthorized");
        t.match(none.headers.get("www-authenticate"), /Bearer .*ApiKey /);
        const [key, person] = [await tenant.key(...SCOPES), await tenant.person("owner")];
        const both = await ask(api, given, { ...key.headers, ...person.headers });
        t.equal(both.status, 400);
        t.equal(both.body.error, "ambiguous_credentials");
      });

      t.test("needs what it says it needs", async (t) => {
        if (given.consoleOnly) {
          const byKey = await ask(api, given, (await tenant.key(...SCOPES)).headers);
          t.equal(byKey.status, 403);
          t.equal(byKey.body.error, "console_only");
        }
        for (const headers of await unscoped(given, tenant)) {
          const reply = await ask(api, given, headers);
          t.equal(reply.status, 403);
          t.equal(reply.body.error, "insufficient_scope");
          t.equal(reply.body.required_scope, acceptedScopes(given)[0]);
        }
        for (const headers of await unranked(given, tenant)) {
          const reply = await ask(api, given, headers);
          t.equal(reply.status, 403);
          t.equal(reply.body.error, "role_insufficient");
        }
      });

      if (!given.params || WORDS.includes(placeOf(given))) return;
      t.test("does not find another client's object, which its own client does", async (t) => {
        const params = await objectOf(given)(tenant, api);
        const stranger = await makeTenant(api);
        const foreign = await ask(api, given, await admitted(given, stranger), params);
        t.equal(foreign.status, 404);
        const own = await ask(api, given, await admitted(given, tenant), params);
        t.ok(own.status !== 404 && own.status < 500, `its own client is answered ${own.status}`);
      });
    });
});

t.test("nothing under /api is open to everybody but what is meant to be", async (t) => {
  // Pages and their assets are left out of the documentation.
  const open = table.filter(
    ({ scope, path, undocumented }) => scope === "public" && path.startsWith("/api/") && !undocumented,
  );
  t.same(open.map(titleOf).sort(), PUBLIC);
});

t.test("keys, users and the audit log are for owners and admins in the console", async (t) => {
  const managed = table.filter(({ path }) => /^\/api\/(keys|users|audit)\b/.test(path));
  for (const given of managed) {
    t.ok(given.consoleOnly, titleOf(given));
    // Everybody changes a password, their own.
    if (!given.path.endsWith("/password")) t.same(given.roles, ["owner", "admin"], titleOf(given));
  }
});

t.test("the table of this file names nothing that is gone", async (t) => {
  for (const place of [...Object.keys(OBJECTS), ...WORDS])
    t.ok(
      table.some(({ path }) => path.startsWith(place)),
      place,
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
